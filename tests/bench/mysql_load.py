"""Inserts into a MySQL or MariaDB at a fixed rate, by sessions that each wait for their commits.

    python -m tests.bench.mysql_load PORT PER_SECOND SECONDS

A process of its own, so that it takes no time from whoever measures.
"""

from __future__ import annotations

import sys
import threading
import time

import pymysql

SESSIONS = 4


def insert(port: int, per_second: float, seconds: float) -> None:
    """One session's share; who is late does not wait."""
    session = pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True)
    began = time.monotonic()
    with session.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        for number in range(int(per_second * seconds)):
            time.sleep(max(0.0, began + number / per_second - time.monotonic()))
            cursor.execute("INSERT INTO shop.events (n, at) VALUES (1, NOW(6))")
    session.close()


def main(port: int, per_second: int, seconds: float) -> None:
    """All sessions, to their end."""
    threads = [
        threading.Thread(target=insert, args=(port, per_second / SESSIONS, seconds)) for _ in range(SESSIONS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))

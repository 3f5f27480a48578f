"""The data directory is its owner's alone: folders 0700, files 0600.

The catalog has passwords that were written into connections, the ledger's files have the rows of
the upstreams, whoever may read them on this machine or in a copy of its disk.  Two things keep others out:

    umask 077          of every process that writes there, Spark's and its Python workers' included
    mode 0700          of the data directory itself, at every start, whatever it was before

A process that crashes leaves no core file, wherever that would be.

A directory that an earlier version has left open is closed at the next start: it, and what lies in it at
the first level, the metadata database above all.  What lies deeper is out of reach behind those.

Not here: values of secrets, which are encrypted besides (secrets.py).
"""

from __future__ import annotations

import os
import resource
import stat
from pathlib import Path
from typing import Final

from headwater.core.errors import UserError

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
_OTHERS: Final = 0o077


def write_privately() -> None:
    """From here on, what this process and its children make is the owner's alone."""
    os.umask(_OTHERS)


def leave_no_core() -> None:
    """What a crash leaves behind has no memory in it: passwords and keys are there as they are."""
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))


def close_to_others(data_dir: Path) -> tuple[str, ...]:
    """Make the data directory, or take it away from others; says what had been open to them."""
    write_privately()
    leave_no_core()
    try:
        data_dir.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        opened = [path for path in (data_dir, *sorted(data_dir.iterdir())) if _open_to_others(path)]
    except OSError as error:
        raise UserError(
            f'data directory "{data_dir}" cannot be written: {error.strerror}',
            "58030",
            hint="Make it writable for this user, or start the server with another --data-dir.",
        ) from error
    for path in opened:
        try:
            path.chmod(FOLDER_MODE if path.is_dir() else FILE_MODE)
        except FileNotFoundError:
            continue  # a process of ours that is ending has removed it
        except OSError as error:
            raise UserError(
                f'"{path}" is open to other users and cannot be closed to them: {error.strerror}',
                "58030",
                detail="The data directory has passwords of connections and the upstreams' rows in it.",
                hint=f"chown -R $(id -u) {data_dir}, or choose a --data-dir that this user can make.",
            ) from error
    return tuple(str(path) for path in opened)


def _open_to_others(path: Path) -> bool:
    try:
        mode = path.stat().st_mode if path.is_dir() else path.lstat().st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISLNK(mode) and bool(stat.S_IMODE(mode) & _OTHERS)

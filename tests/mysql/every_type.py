"""Columns of every type, and values of them."""

from __future__ import annotations

from tests.mysql.database import Database
from tests.support.mysql import MysqlServer

# Each: what a column is, how a SELECT shows it, and values.
TYPES: dict[str, tuple[str, list[str]]] = {
    "tinyint": ("{}", ["-128", "127", "0"]),
    "tinyint unsigned": ("{}", ["0", "255"]),
    "smallint": ("{}", ["-32768", "32767"]),
    "smallint unsigned": ("{}", ["65535", "1"]),
    "mediumint": ("{}", ["-8388608", "8388607", "-1"]),
    "mediumint unsigned": ("{}", ["16777215"]),
    "int": ("{}", ["-2147483648", "2147483647"]),
    "int unsigned": ("{}", ["4294967295"]),
    "bigint": ("{}", ["-9223372036854775808", "9223372036854775807"]),
    "bigint unsigned": ("{}", ["18446744073709551615", "9223372036854775808"]),
    "bit(1)": ("{}+0", ["1", "0"]),
    "bit(11)": ("{}+0", ["b'10000000001'"]),
    "bit(64)": ("{}+0", ["0xFFFFFFFFFFFFFFFE"]),
    "double": ("{}", ["1.5e300", "-2.5e-300", "0.1", "-0.0"]),
    "double unsigned": ("{}", ["1.25"]),
    "decimal(1,0)": ("{}", ["-9", "9"]),
    "decimal(5,5)": ("{}", ["-0.12345", "0.00001"]),
    "decimal(18,9)": ("{}", ["-123456789.987654321", "999999999.999999999"]),
    "decimal(30,0)": ("{}", ["-123456789012345678901234567890"]),
    "decimal(38,10)": ("{}", ["-" + "9" * 28 + "." + "9" * 10]),
    "decimal(65,30)": ("{}", ["9" * 35 + "." + "9" * 30, "-0." + "0" * 29 + "1"]),
    "decimal(10,2) unsigned": ("{}", ["99999999.99", "0"]),
    "year": ("cast({} as char)", ["1901", "2155", "0", "2024"]),
    "date": (
        "cast({} as char)",
        ["'2024-02-29'", "'0000-00-00'", "'2024-00-10'", "'2023-02-31'", "'9999-12-31'"],
    ),
    "datetime": ("cast({} as char)", ["'1000-01-01 00:00:00'", "'0000-00-00'", "'9999-12-31 23:59:59'"]),
    "datetime(1)": ("cast({} as char)", ["'2024-02-29 12:34:56.7'"]),
    "datetime(3)": ("cast({} as char)", ["'2024-00-29 12:34:56.789'"]),
    "datetime(6)": ("cast({} as char)", ["'1969-12-31 23:59:59.999999'", "'1970-01-01'"]),
    "timestamp null": (
        "cast({} as char)",
        ["'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'", "'0000-00-00'"],
    ),
    "timestamp(2) null": ("cast({} as char)", ["'2024-02-29 12:34:56.78'", "'0000-00-00'"]),
    "timestamp(5) null": ("cast({} as char)", ["'2024-12-31 23:59:59.98765'"]),
    "time": ("cast({} as char)", ["'838:59:59'", "'-838:59:59'", "'00:00:00'", "'24:00:00'", "'-00:00:01'"]),
    "time(1)": ("cast({} as char)", ["'-00:00:00.1'", "'100:00:00.9'"]),
    "time(4)": ("cast({} as char)", ["'-12:34:56.7891'", "'-24:00:00'", "'23:59:59.9999'"]),
    "time(6)": ("cast({} as char)", ["'-00:00:00.000001'", "'23:59:59.999999'", "'-838:59:58.999999'"]),
    "char(100)": ("{}", ["'ü '", "''", "'  x'"]),
    "char(255) character set utf8mb4": ("{}", ["repeat('€', 255)"]),
    "varchar(300) character set latin1": ("{}", ["'é€ÿ'", "repeat('é', 300)", "''"]),
    "text character set ucs2": ("{}", ["'a\\nü\\n'", "''", "'\\n'"]),
    "tinytext": ("{}", ["'😀'"]),
    "longtext": ("{}", ["repeat('long 😀', 20000)"]),
    "binary(10)": ("{}", ["x'010000ff00'", "''", "x'00000000000000000000'"]),
    "varbinary(400)": ("{}", ["x'00ff00'", "''"]),
    "blob": ("{}", ["x'00'", "repeat('x', 60000)"]),
    "mediumblob": ("{}", ["'m'"]),
    "enum('a','ü','c,d','it''s')": ("{}", ["'a'", "'ü'", "'c,d'", "'it''s'", "0"]),
    "set('x','y','ü')": ("{}", ["''", "'x,y,ü'", "'ü'", "'y'"]),
    "geometry": ("cast({} as binary)", ["ST_GeomFromText('POINT(1 2)')"]),
}
MARIADB_TYPES: dict[str, tuple[str, list[str]]] = {
    "uuid": ("{}", ["'123e4567-e89b-42d3-a456-426655440000'", "'00000000-0000-0000-0000-000000000000'"]),
    "inet4": ("{}", ["'1.2.3.0'", "'255.255.255.255'", "'0.0.0.0'"]),
    "inet6": (
        "{}",
        ["'::'", "'::1'", "'::ffff:1.2.3.4'", "'1::8'", "'1:2:3:0:5:6:7:8'", "'0:2:3:4:5:6:7:0'"],
    ),
    "varchar(200) compressed": ("{}", ["repeat('x', 200)", "'ü'", "''"]),
    "blob compressed": ("{}", ["repeat('x', 5000)", "x'00'"]),
}


def types_of(server: MysqlServer) -> dict[str, tuple[str, list[str]]]:
    return TYPES | MARIADB_TYPES if server.flavour == "mariadb" else TYPES


def make_all_types(database: Database) -> None:
    """A table with a column of each type, and rows with all their values."""
    types = types_of(database.server)
    columns = ", ".join(f"c{number} {type_}" for number, type_ in enumerate(types))
    database.run(f"CREATE TABLE everything (id int PRIMARY KEY, {columns})")
    rows = []
    for row in range(1 + max(len(values) for _, values in types.values())):
        values = [values[row] if row < len(values) else "NULL" for _, values in types.values()]
        rows.append(f"({row}, {', '.join(values)})")
    database.run(
        "SET SESSION sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'",
        f"INSERT INTO everything VALUES {', '.join(rows)}",
    )

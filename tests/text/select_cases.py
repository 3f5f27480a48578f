"""Reads the fixture files of tests/text/select: queries and expressions to compare.

A file is blocks with blank lines between; `#` begins a comment line.

    query                          a query; rows are compared in order if it has ORDER BY
    SELECT ...

    error                          a query that must fail, with the same SQLSTATE everywhere
    SELECT 1 / 0

    agree                          dialect only: PostgreSQL does not know it, both engines must agree
    SELECT 1::uint2

    expr x int4, y int4            expressions over typed inputs: each is computed
    | 7 | 2                        over constants and over a table's columns
    | NULL | 2
    x / y
    x % y

    expr x timestamptz; zones: Europe/Berlin, UTC+3      the same in sessions of each of these zones

After the first word may stand marks: `zeros` (a numeric was turned into text: its needless zeros do
not count), `message` (of an error, whose text must be PostgreSQL's too), `spark: reason` or
`duckdb: reason` (this engine answers 0A000), `zones: a, b` at the end (run in each of these, not in UTC; on
Spark, which has the same kernels and needs its time, in the first).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

KINDS = ("query", "error", "agree", "expr")
ENGINES = ("duckdb", "spark")
_WORD = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|[A-Za-z_]\w*|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Input:
    """A typed input of expressions."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to compare: a query, or an expression with its inputs."""

    file: str
    line: int
    kind: Literal["query", "error", "agree", "expr"]
    sql: str
    inputs: tuple[Input, ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()
    block: int = 0
    zeros: bool = False
    refused: dict[str, str] = field(default_factory=dict)  # engine -> why it answers 0A000
    message: bool = False
    zone: str = "UTC"
    engines: tuple[str, ...] = ENGINES

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + ("" if self.zone == "UTC" else f"@{self.zone}")

    @property
    def ordered(self) -> bool:
        return re.search(r"\border\s+by\b[^()]*$", self.sql, re.IGNORECASE) is not None

    def over_constants(self, row: int) -> str:
        """The expression with a row's values in the places of the inputs."""
        values = {
            given.name: f"CAST({_literal(value)} AS {given.type})"
            for given, value in zip(self.inputs, self.rows[row], strict=True)
        }
        return "".join(f"({values[word]})" if word in values else word for word in _WORD.findall(self.sql))


def table_sql(case: Case, name: str) -> list[str]:
    """Statements that make the inputs of an expression's block a table."""
    columns = ", ".join(f"{given.name} {given.type}" for given in case.inputs)
    rows = ", ".join(
        f"({', '.join([str(number), *(_literal(value) for value in row)])})"
        for number, row in enumerate(case.rows)
    )
    return [f"CREATE TABLE {name} (nr int4, {columns})", f"INSERT INTO {name} VALUES {rows}"]


def _literal(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"


def read_cases(folder: Path) -> list[Case]:
    """Every case of a folder."""
    cases: list[Case] = []
    for path in sorted(folder.glob("*.slt")):
        cases += _read(path, len(cases))
    return cases


def _read(path: Path, first_block: int) -> list[Case]:
    cases: list[Case] = []
    block: list[tuple[int, str]] = []
    lines = [*path.read_text().splitlines(), ""]
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        if line.strip():
            block.append((number, line))
        elif block:
            made = _block(path.stem, block, first_block + number)
            for place, zone in enumerate(_zones(block)):
                engines = ENGINES if place == 0 else ("duckdb",)
                cases += [replace(case, zone=zone, engines=engines) for case in made]
            block = []
    return cases


def _zones(lines: list[tuple[int, str]]) -> list[str]:
    _, _, zones = lines[0][1].partition("zones: ")
    return [zone.strip() for zone in zones.split(", ")] if zones else ["UTC"]


def _block(file: str, lines: list[tuple[int, str]], block: int) -> list[Case]:
    number, header = lines[0]
    kind, _, rest = header.partition("zones: ")[0].rstrip("; ").partition(" ")
    if kind not in KINDS:
        raise ValueError(f"{file}:{number}: a block begins with one of {', '.join(KINDS)}, not {kind!r}")
    refused = {engine: why.strip() for engine, why in re.findall(r"\b(duckdb|spark): ([^;]+)", rest)}
    if kind != "expr":
        sql = "\n".join(line for _, line in lines[1:])
        marks = rest.split()
        return [
            Case(file, number, kind, sql, (), (), block, "zeros" in marks, refused, "message" in marks)  # type: ignore[arg-type]
        ]
    declared, *more = rest.split(";")
    inputs = tuple(Input(*part.strip().split(" ", 1)) for part in re.split(r", (?=\w+ )", declared))
    rows = tuple(
        tuple(_value(cell.strip()) for cell in line[1:].split(" | "))
        for _, line in lines[1:]
        if line.startswith("|")
    )
    zeros = any("zeros" in mark.split() for mark in more)
    return [
        Case(file, place, "expr", line.strip(), inputs, rows, block, zeros, refused)
        for place, line in lines[1:]
        if not line.startswith("|")
    ]


def _value(cell: str) -> str | None:
    if cell == "NULL":
        return None
    return cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] == "'" else cell

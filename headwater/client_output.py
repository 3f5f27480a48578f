"""What `headwater sql` prints: tables for people, tabs for programs.

On a terminal a result is a table, drawn when it is complete; a SUBSCRIBE never is,
so its rows are printed as they come.  Elsewhere rows are lines of values separated
by tabs, NULL is \\N, and tags are left out: the output is what a program wants to read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from headwater.client import (
    Client,
    Columns,
    Copied,
    Done,
    Event,
    HttpClient,
    Notice,
    Row,
    split_statements,
)
from headwater.options import Address

NULL_ON_TERMINAL = "[dim]null[/dim]"
NULL_IN_LINES = "\\N"
SPECIAL = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
ENDLESS = re.compile(r"\s*(subscribe|tail)\b", re.IGNORECASE)


def run_script(text: str, address: Address, user: str, database: str, http: str | None = None) -> None:
    """Run statements one after the other and print what comes back; raises at the first error.

    They are sent by PostgreSQL's protocol, or to the server whose URL is `http`.
    """
    with Client(address, user, database) if http is None else HttpClient(http, user, database) as client:
        for statement in split_statements(text):
            events = client.run(statement)
            if sys.stdout.isatty() and not ENDLESS.match(statement):
                _draw(events, Console())
            else:
                _write(events)


def line_of(values: Iterable[str | None]) -> str:
    """A row as text: tabs between, specials escaped as COPY does."""
    return "\t".join(
        NULL_IN_LINES if value is None else re.sub(r"[\\\t\n\r]", lambda m: SPECIAL[m[0]], value)
        for value in values
    )


def _write(events: Iterable[Event]) -> None:
    for event in events:
        match event:
            case Row(values):
                click.echo(line_of(values))
            case Copied(data):
                click.echo(data, nl=False)
            case Notice():
                _show_notice(event)
            case _:
                pass


def _draw(events: Iterable[Event], console: Console) -> None:
    table = Table()
    row_count = 0
    for event in events:
        match event:
            case Columns(names):
                table, row_count = Table(*map(escape, names)), 0
            case Row(values):
                table.add_row(*(NULL_ON_TERMINAL if v is None else escape(v) for v in values))
                row_count += 1
            case Copied(data):
                click.echo(data, nl=False)
            case Notice():
                _show_notice(event)
            case Done(tag):
                if table.columns:
                    console.print(table)
                    click.echo(f"({row_count} row{'' if row_count == 1 else 's'})")
                    table = Table()
                else:
                    click.echo(tag)


def _show_notice(notice: Notice) -> None:
    click.echo(f"{notice.severity}:  {notice.message}", err=True)
    if notice.hint:
        click.echo(f"HINT:   {notice.hint}", err=True)

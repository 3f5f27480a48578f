"""A simple query: statements one after the other, until one fails.

Several statements are one transaction unless they say otherwise.  It is ended
before the last CommandComplete, so that a commit that fails is never reported as
done.

Not here: ReadyForQuery, which follows whatever happened (session.py).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from headwater.coordinator.api import ParsedStatement, Result
from headwater.core.errors import UserError
from headwater.pgwire import messages
from headwater.pgwire.copy import receive_copy, send_copy
from headwater.pgwire.portal import Portal
from headwater.pgwire.steps import Steps, Write
from headwater.pgwire.wire import Wire, move_position


def simple_query(wire: Wire, text: str) -> Steps[None]:
    """Run all statements of a text and send what they return."""
    wire.unnamed = None
    unnamed = wire.portals.pop("", None)
    if unnamed is not None:
        unnamed.close()
    session = wire.session
    parsed_all = yield from wire.ask(partial(session.parse, text))
    statements = [parsed for parsed in parsed_all if parsed.statement is not None]
    if len(statements) > 1:
        session.begin_implicit()
    tag = ""
    for parsed in statements:
        if tag:
            yield Write(messages.command_complete(tag))
        try:
            tag = yield from _run(wire, parsed)
        except UserError as error:
            move_position(error, parsed)
            raise
    yield from wire.ask(partial(session.finish, False))
    yield from wire.tell()
    yield Write(messages.command_complete(tag) if statements else messages.EMPTY_QUERY)


def _run(wire: Wire, parsed: ParsedStatement) -> Steps[str]:
    """One statement; its tag."""
    prepared = yield from wire.ask(partial(wire.session.prepare, parsed))
    if prepared.parameters:  # nobody could give it an argument
        raise UserError("there is no parameter $1", "42P02")
    prepared = replace(prepared, told=False)
    portal = Portal(prepared)
    try:
        portal.result = yield from wire.ask(partial(wire.session.execute, prepared))
        yield from wire.tell(portal.result.notices)
        count = yield from send_result(wire, portal, portal.result)
        yield from wire.tell()
        return count if isinstance(count, str) else portal.result.tag(count)
    finally:
        portal.close()


def send_result(wire: Wire, portal: Portal, result: Result) -> Steps[int | str]:
    """Send what a statement returns; how many rows that were, or the tag if it is known."""
    if result.copy_in is not None:
        return (yield from receive_copy(wire, result.copy_in))
    if result.copy_out is not None:
        return (yield from send_copy(portal, result.copy_out, result.columns or ()))
    if result.columns is None:
        return 0
    yield Write(messages.row_description(result.columns, portal.formats(result.columns)))
    return (yield from portal.send_rows(result.columns, 0))

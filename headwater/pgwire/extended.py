"""The extended query protocol: Parse, Bind, Describe, Execute, Close.

    Parse     text -> statement        named ones stay, the unnamed one until the next
    Bind      statement + arguments -> portal
    Execute   portal -> rows, all or so many at a time

Statements up to a Sync are one transaction, which Sync commits.  One that Sync follows at
once is alone, and durable before its CommandComplete.

Not here: Sync and what an error means for the messages before it (session.py).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from headwater.coordinator.api import ParsedStatement, Prepared, Result
from headwater.core.errors import UserError
from headwater.core.limits import ARGUMENTS_BYTES_MAX, PORTALS_MAX
from headwater.core.relation import Column
from headwater.core.types import SqlType, type_of_oid
from headwater.pgwire import messages
from headwater.pgwire.codec import Bind, Close, Describe, Execute, Parse, malformed
from headwater.pgwire.copy import receive_copy, send_copy
from headwater.pgwire.decode import arguments_text
from headwater.pgwire.portal import Portal
from headwater.pgwire.steps import Glance, Steps, Write
from headwater.pgwire.wire import Wire, move_position


def parse(wire: Wire, message: Parse) -> Steps[None]:
    """Prepare a statement under a name."""
    session = wire.session
    if not message.name:
        wire.unnamed = None
    parsed_all = yield from wire.ask(partial(session.parse, message.text))
    statements = [parsed for parsed in parsed_all if parsed.statement is not None]
    if len(statements) > 1:
        raise UserError("cannot insert multiple commands into a prepared statement", "42601")
    types = tuple(_parameter_type(oid) for oid in message.type_oids)
    if statements:
        try:
            prepared = yield from wire.ask(partial(session.prepare, statements[0], types))
        except UserError as error:
            move_position(error, statements[0])
            raise
    else:
        prepared = Prepared(ParsedStatement(None, message.text, 0), (), None)
    if message.name and message.name in session.statements:
        raise UserError(f'prepared statement "{message.name}" already exists', "42P05")
    _keep(wire, message.name, prepared)
    yield from wire.tell()
    yield Write(messages.PARSE_COMPLETE)


def _parameter_type(oid: int) -> SqlType | None:
    """The type the client gives a parameter; None if it leaves that to us."""
    if oid == 0:
        return None
    type_ = type_of_oid(oid)
    if type_ is None:
        raise UserError(f"type with OID {oid} does not exist", "42704")
    return None if type_.kind == "unknown" else type_


def bind(wire: Wire, message: Bind) -> Steps[None]:
    """Make a portal."""
    prepared = _statement(wire, message.statement)
    expected, given = len(prepared.parameters), len(message.arguments)
    if given != expected:
        raise malformed(
            f'bind message supplies {given} parameters, but prepared statement "{message.statement}"'
            f" requires {expected}"
        )
    wire.session.check_usable(prepared.parsed.statement)
    replaced = wire.portals.get(message.portal)
    if replaced is not None:
        if message.portal:
            raise UserError(f'cursor "{message.portal}" already exists', "42P03")
        del wire.portals[""]
        replaced.close()
    if len(wire.portals) >= PORTALS_MAX:
        raise UserError(
            f"a connection cannot have more than {PORTALS_MAX} portals",
            "53400",
            hint="Close some, or COMMIT, which closes all.",
        )
    _check_room(wire, message)
    arguments = arguments_text(message.arguments, message.formats, prepared.parameters)
    current = yield from wire.ask(partial(wire.session.current, prepared))
    prepared = _keep(wire, message.statement, current)
    portal = Portal(prepared, arguments, message.result_formats, wire.session.mark)
    portal.wait_with(wire.waiting, _size(message))
    portal.formats(prepared.columns or ())
    wire.portals[message.portal] = portal
    yield Write(messages.BIND_COMPLETE)


def _size(message: Bind) -> int:
    return sum(len(argument) for argument in message.arguments if argument is not None)


def _check_room(wire: Wire, message: Bind) -> None:
    """UserError if arguments would wait beside too many others; those of one portal are a message's."""
    if wire.waiting.size and wire.waiting.size + _size(message) > ARGUMENTS_BYTES_MAX:
        raise UserError(
            f"arguments of portals that were not executed have more than {ARGUMENTS_BYTES_MAX} bytes",
            "53400",
            hint="Execute or close some of them first.",
        )


def describe(wire: Wire, message: Describe) -> Steps[None]:
    """Say what a statement takes and returns, or what a portal returns."""
    if message.kind == "S":
        prepared = _statement(wire, message.name)
        _check_described(wire, prepared.columns)
        yield Write(messages.parameter_description(prepared.parameters))
        current = yield from wire.ask(partial(wire.session.current, prepared))
        prepared = _keep(wire, message.name, replace(current, described=True))
        columns, formats = prepared.columns, (0,) * len(prepared.columns or ())
    elif message.name not in wire.portals and wire.session.cursor_columns(message.name) is not None:
        columns = wire.session.cursor_columns(message.name)
        _check_described(wire, columns)
        formats = (0,) * len(columns or ())
    else:
        portal = _portal(wire, message.name)
        columns = portal.prepared.columns
        _check_described(wire, columns)
        portal.prepared = replace(portal.prepared, described=True)
        formats = portal.formats(columns or ())
    yield Write(messages.NO_DATA if columns is None else messages.row_description(columns, formats))


def _check_described(wire: Wire, columns: tuple[Column, ...] | None) -> None:
    """In a transaction that has failed, only what returns nothing can be described."""
    if columns is not None:
        wire.session.check_usable(None)


def execute(wire: Wire, message: Execute) -> Steps[None]:
    """Run a portal, or go on with it."""
    portal = _portal(wire, message.portal)
    statement, result = portal.prepared.parsed.statement, portal.result
    if statement is None:
        yield Write(messages.EMPTY_QUERY)
        return
    wire.session.check_usable(statement)
    over = portal.done and (result is None or result.columns is None or result.copy_out is not None)
    if portal.failed or over:
        raise UserError(f'portal "{message.portal}" cannot be run', "55000")
    try:
        if result is None:
            result = yield from _start(wire, portal)
        else:
            wire.session.resume()
        yield from _flow(wire, portal, result, max(message.rows_max, 0))
    except BaseException:
        portal.fail()
        raise


def _start(wire: Wire, portal: Portal) -> Steps[Result]:
    following: bytes = yield Glance(1)
    if following != b"S":
        wire.session.begin_implicit(pipeline=True)
    try:
        made = partial(wire.session.execute, portal.prepared, portal.arguments)
        portal.result = result = yield from wire.ask(made)
        portal.forget_arguments()
    except UserError as error:
        move_position(error, portal.prepared.parsed)
        raise
    yield from wire.tell(result.notices)
    return result


def _flow(wire: Wire, portal: Portal, result: Result, rows_max: int) -> Steps[None]:
    if result.copy_in is not None:
        portal.done = True
        tag = yield from receive_copy(wire, result.copy_in)
    elif result.copy_out is not None:
        tag = result.tag((yield from send_copy(portal, result.copy_out, result.columns or ())))
    elif result.columns is not None:
        count = 0 if portal.done else (yield from portal.send_rows(result.columns, rows_max))
        if not portal.done:
            if result.leave is not None:
                yield from wire.ask(partial(result.leave, portal.take_rest()))
            yield from wire.tell()
            yield Write(messages.PORTAL_SUSPENDED)
            return
        tag = result.tag(count)
    else:
        portal.done = True
        tag = result.tag(0)
    portal.close()
    yield from wire.tell()
    yield Write(messages.command_complete(tag))


def close(wire: Wire, message: Close) -> Steps[None]:
    """Forget a statement or a portal; one that does not exist is forgotten already."""
    if message.kind == "P":
        portal = wire.portals.pop(message.name, None)
        if portal is not None:
            portal.close()
    elif message.name:
        wire.session.statements.pop(message.name, None)
    else:
        wire.unnamed = None
    yield Write(messages.CLOSE_COMPLETE)


def _keep(wire: Wire, name: str, prepared: Prepared) -> Prepared:
    if name:
        wire.session.statements[name] = prepared
    else:
        wire.unnamed = prepared
    return prepared


def _statement(wire: Wire, name: str) -> Prepared:
    prepared = wire.session.statements.get(name) if name else wire.unnamed
    if prepared is None:
        what = f'prepared statement "{name}"' if name else "unnamed prepared statement"
        raise UserError(f"{what} does not exist", "26000")
    return prepared


def _portal(wire: Wire, name: str) -> Portal:
    portal = wire.portals.get(name)
    if portal is None:
        raise UserError(f'portal "{name}" does not exist', "34000")
    return portal

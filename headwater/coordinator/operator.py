"""What is the operator's alone: whoever is connected to the operator's address is the operator.

    --sql-address            everybody: no ALTER SYSTEM, no user `mz_system`, and what a new
                             environment begins with stays
    --internal-sql-address   the operator: all of it, and connections that nobody else can take;
                             is_superuser is on, whoever the user

The address is all that tells the operator from a superuser, and no password is asked for there: it is a
loopback address unless --trust-network was said.

Not here: what roles may do (catalog/rights.py), and how they show who they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from headwater.catalog.state import CatalogState, Role
from headwater.core.errors import UserError
from headwater.core.limits import CONNECTIONS_MAX, OPERATOR_CONNECTIONS_MAX

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession

INITIAL: Final = {
    "database": ("materialize",),
    "schema": ("materialize", "public"),
    "cluster": ("quickstart",),
}
"""What a new environment begins with, by name: sessions that name no other use what is called so."""

_HINT: Final = "Connect to the operator's address, which the server was given by --internal-sql-address."


def connections_max(internal: bool) -> int:
    """How many clients an address has room for, whoever fills the other one."""
    return OPERATOR_CONNECTIONS_MAX if internal else CONNECTIONS_MAX


def admitted(state: CatalogState, sessions: Iterable[SqlSession], user: str, internal: bool) -> Role:
    """The role of a client that comes in by an address, if there is room for one more.

    Users of the product itself come in by the operator's address.
    """
    role = state.role_named(user)
    if role is None:
        raise UserError(f'role "{user}" does not exist', "28000", hint=f'CREATE USER "{user}" makes it.')
    if role.id.startswith("s") and not internal:
        raise UserError(f"unauthorized login to user '{user}'", "28000", hint=_HINT)
    if not role.login:
        raise UserError(f'role "{user}" is not permitted to log in', "28000")
    beside = [session for session in sessions if session.internal == internal]
    if len(beside) >= connections_max(internal):
        raise UserError("sorry, too many clients already", "53300")
    own_count = sum(session.role_id == role.id for session in beside)
    if 0 <= role.connection_limit <= own_count and not (internal or role.superuser):
        raise UserError(f'too many connections for role "{user}"', "53300")
    return role


def check_alter_system(operator: bool) -> None:
    """The server's variables hold for everybody."""
    if not operator:
        raise UserError("permission denied to alter system", "42501", hint=_HINT)


_INSTEAD: Final = {
    "dropped": "Drop what is in it, object by object.",
    "renamed": "Create another one with the name you want.",
}


def check_stays(operator: bool, kind: str, full_name: tuple[str, ...], verb: str) -> None:
    """Sessions begin in what has these names, and much is put there; a swap may change what it is."""
    if INITIAL[kind] == full_name and not operator:
        raise UserError(
            f"{kind} '{full_name[-1]}' cannot be {verb}",
            "42501",
            detail="A new environment begins with it, and sessions that name no other use it.",
            hint=f"{_INSTEAD[verb]} To have the {kind} itself {verb}: {_HINT[0].lower()}{_HINT[1:]}",
        )

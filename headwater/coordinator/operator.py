"""What is the operator's alone: whoever is connected to the operator's address is the operator.

    --sql-address            everybody: no ALTER SYSTEM, no user `mz_system`, and what a new
                             environment begins with stays
    --internal-sql-address   the operator: all of it, and connections that nobody else can take;
                             is_superuser is on, whoever the user

There are no passwords, so the address is all that tells the two apart; who can reach it is for the
operator's firewall to say.
"""

from __future__ import annotations

from typing import Final

from headwater.catalog.state import CatalogState
from headwater.core.errors import UserError
from headwater.core.limits import CONNECTIONS_MAX, OPERATOR_CONNECTIONS_MAX

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


def check_login(state: CatalogState, user: str, internal: bool) -> None:
    """Users of the product itself come in by the operator's address."""
    role = next((role for role in state.roles.values() if role.name == user), None)
    if role is not None and role.id.startswith("s") and not internal:
        raise UserError(f"unauthorized login to user '{user}'", "28000", hint=_HINT)


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

"""What is the operator's alone: whoever is connected to the operator's address is the operator.

    --sql-address            everybody: no ALTER SYSTEM, no user `mz_system`, and what a new
                             environment begins with stays
    --internal-sql-address   the operator: all of it, and connections that nobody else can take

There are no passwords, so the address is all that tells the two apart; who can reach it is for the
operator's firewall to say.
"""

from __future__ import annotations

from typing import Final

from headwater.catalog.state import CatalogState
from headwater.core.errors import UserError
from headwater.core.limits import CONNECTIONS_MAX, OPERATOR_CONNECTIONS_MAX

INITIAL_ID: Final = "u1"
"""The database, the schema in it and the cluster that a new environment begins with have this id."""

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


def check_drop(operator: bool, kind: str, id_: str, name: str) -> None:
    """What a new environment begins with: sessions begin there, and much is put there."""
    if id_ == INITIAL_ID and not operator:
        raise UserError(
            f"{kind} '{name}' cannot be dropped",
            "42501",
            detail="A new environment begins with it, and sessions that name no other use it.",
            hint=f"Drop what is in it, object by object. To drop the {kind} itself: {_HINT}",
        )

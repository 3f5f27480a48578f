"""The first superuser: somebody must be able to log in to a new environment, and make other roles.

    --admin-password-file FILE    the password is the file's first line
    otherwise                     one is made, and told once

Only while no superuser has a password: later it is changed by ALTER ROLE, also on the operator's address,
where none is asked for.  What is made is told before it is durable: a server that dies in between has told
a password that nobody has, and its next start tells another one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from headwater.catalog.state import DEFAULT_ROLE_ID, CatalogState, Role
from headwater.catalog.store import CatalogStore
from headwater.catalog.updates import UpdateRole
from headwater.core.clock import secret_number
from headwater.core.errors import UserError
from headwater.core.scram import SALT_BYTES, make_verifier
from headwater.options import AuthOptions

_ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
_LENGTH: Final = 24


def name_superuser(catalog: CatalogStore, auth: AuthOptions, tell: Callable[[str], None]) -> None:
    """Give the first superuser a password, if there is none who has one."""
    if auth.method != "password" or any(_able(role) for role in catalog.state.roles.values()):
        return
    role = _first(catalog.state)
    if auth.admin_password_file is None:
        password = "".join(_ALPHABET[secret_number(32) % len(_ALPHABET)] for _ in range(_LENGTH))
        tell(f'password of superuser "{role.name}", shown this once: {password}')
    else:
        password = _read(auth.admin_password_file)
    verifier = make_verifier(password, secret_number(SALT_BYTES * 8).to_bytes(SALT_BYTES, "big"))
    catalog.transact([], [UpdateRole(replace(role, verifier=verifier, login=True, superuser=True))])


def _able(role: Role) -> bool:
    return role.superuser and role.login and role.verifier is not None


def _first(state: CatalogState) -> Role:
    """Whom environments begin with, or the oldest superuser there is."""
    superusers = [role for role in state.roles.values() if role.superuser and role.id.startswith("u")]
    found = state.roles.get(DEFAULT_ROLE_ID) or min(superusers, key=lambda role: role.oid, default=None)
    if found is None:
        raise UserError(
            "there is no superuser who could log in",
            "28000",
            hint="Start with --auth trust on loopback addresses, and type CREATE ROLE .. SUPERUSER LOGIN.",
        )
    return found


def _read(path: Path) -> str:
    try:
        password = path.read_text("utf-8").partition("\n")[0].rstrip("\r")
    except OSError as error:
        raise UserError(
            f'could not read --admin-password-file "{path}": {error.strerror or error}', "58030"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f'--admin-password-file "{path}" is not UTF-8', "22021") from error
    if not password or "\0" in password:
        raise UserError(f'--admin-password-file "{path}" has no password in its first line', "22023")
    return password

"""Beginning anew with the server that is there now, whatever was lost in between."""

from __future__ import annotations

from headwater.core.errors import UserError
from headwater.sources.contract import Options, Secrets
from headwater.sources.mysql.connection import server_now
from headwater.sources.mysql.server import configuration


def resync(options: Options, secrets: Secrets) -> Options:
    """What makes a source the next generation of itself."""
    facts = server_now(options, secrets)
    message = configuration(facts)
    if message is not None:
        raise UserError(message, "55000", hint="Set it upstream, and run this again.")
    return {"flavour": facts.flavour, "generation": options.get("generation", 0) + 1}

"""Beginning anew with the server that is there now, whatever was lost in between."""

from __future__ import annotations

from headwater.core.errors import UserError
from headwater.sources.contract import Options, Secrets
from headwater.sources.mysql.connection import close, connect
from headwater.sources.mysql.server import configuration, server_facts
from headwater.sources.mysql.trouble import DRIVER_ERRORS, trouble


def resync(options: Options, secrets: Secrets) -> Options:
    """What makes a source the next generation of itself."""
    session = connect(options["connection"], secrets)
    try:
        facts = server_facts(session)
    except DRIVER_ERRORS as error:
        raise trouble(error) from error
    finally:
        close(session)
    message = configuration(facts)
    if message is not None:
        raise UserError(message, "55000", hint="Set it upstream, and run this again.")
    return {"flavour": facts.flavour, "generation": options.get("generation", 0) + 1}

"""Where a server is: the transactions that are committed by now.

The stream brings all of them, also those that have changed nothing that concerns us.  With semi-synchronous
replication a transaction may be in the log and not be committed yet: it is not read before it is.
"""

from __future__ import annotations

from headwater.core.frontier import Frontier
from headwater.sources.contract import Options, Secrets
from headwater.sources.mysql.connection import server_now
from headwater.sources.mysql.frontier import GtidFrontier
from headwater.sources.mysql.gtid import parse_gtids


def position(options: Options, secrets: Secrets, now_ms: int) -> Frontier:
    """See `SourceType.position`."""
    facts = server_now(options, secrets)
    return GtidFrontier(parse_gtids(facts.flavour, facts.executed))

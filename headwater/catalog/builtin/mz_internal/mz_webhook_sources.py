"""mz_internal.mz_webhook_sources: where requests for webhooks are sent."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.details import WebhookTable


def _rows(facts: SystemFacts) -> Columns:
    items = [item for item in facts.state.items.values() if isinstance(item.details, WebhookTable)]
    return {
        "id": [item.id for item in items],
        "name": [item.name for item in items],
        "url": [facts.webhook_url(item) for item in items],
    }


RELATION = BuiltinTable(
    number=207,
    schema="mz_internal",
    name="mz_webhook_sources",
    description="Where requests for webhooks are sent.",
    columns=shape(
        """
        id text
        name text
        url text
        """
    ),
    rows=_rows,
    scope="moment",
)

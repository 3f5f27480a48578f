"""The page about Kafka sources can be typed as it stands.

Goal: no statement of the page fails.
Method: its blocks are run in order in a schema of their own; only addresses and the topic's name are put in.
"""

from __future__ import annotations

from tests.support.mirror import Mirror
from tests.support.pages import FOLDER, blocks, type_in
from tests.support.registry import RegistryServer

SHOP = ("shop_orders", "shop_payments")


def test_every_statement_of_the_page_runs(here: Mirror, registry: RegistryServer) -> None:
    topic = here.topic()
    for name in SHOP:
        here.kafka.create_topic(name)
        here.topics.append(name)
        here.kafka.produce(name, [(b"7", b'{"paid": true}')])
    here.kafka.produce(topic, [(b"7", b'{"state": "new"}'), (b"7", b'{"state": "paid"}')])
    for _, block in blocks(FOLDER / "kafka.md", "sql"):
        text = block.replace("broker.example:9092", here.kafka.address())
        text = text.replace("http://registry.example:8081", registry.url)
        text = text.replace("TOPIC 'orders'", f"TOPIC '{topic}'")
        text = text.replace("REFERENCE orders", f'REFERENCE "{topic}"')
        type_in(here.session, text)
    assert here.rows("SELECT key, data ->> 'state' FROM orders") == [("7", "paid")]
    assert here.rows("SELECT count(*) FROM orders_log") == [(2,)]
    assert here.rows("SELECT count(*) FROM shop_orders") == [(1,)]
    assert here.rows("SELECT DISTINCT topic FROM two_topics ORDER BY topic") == [(name,) for name in SHOP]

"""The board and the alert rules in docs/monitoring: they can be read, and ask for numbers that there are.

Method: every name in every expression is looked up in what the server exposes, with all kinds of its objects.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.observe import metrics
from headwater.observe.metrics import ObjectNumbers

FOLDER = Path(__file__).parents[3] / "docs/monitoring"
NAME = re.compile(r"\bheadwater_[a-z_]+")
SELECTOR = re.compile(r"(headwater_[a-z_]+)\{([^}]*)\}")
LABEL = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"')
GROUPED = re.compile(r"by \(([^)]*)\)")


def exposed() -> dict[str, set[str]]:
    """Labels by the names of all samples that the server can ever expose."""
    found: dict[str, set[str]] = {}
    for metric in metrics.REGISTRY._collector_to_names:
        labels = set(getattr(metric, "_labelnames", ()))
        kind, name = metric._type, metric._name  # type: ignore[attr-defined]
        suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(kind, ("",))
        found |= {name + suffix: labels | {"le"} for suffix in suffixes}
    numbers = ObjectNumbers("u1", "t", "table", "s", "running", True, 1.0)
    text = metrics.exposition([numbers]).decode()
    for name in ("headwater_status", "headwater_hydrated", "headwater_lag_seconds"):
        line = next(line for line in text.splitlines() if line.startswith(name + "{"))
        found[name] = set(re.findall(r'(\w+)="', line))
    return found


def rules() -> list[dict[str, Any]]:
    loaded = yaml.safe_load((FOLDER / "alerts.yml").read_text())
    return [rule for group in loaded["groups"] for rule in group["rules"]]


def targets() -> list[dict[str, Any]]:
    board = json.loads((FOLDER / "grafana.json").read_text())
    return [target for panel in board["panels"] for target in panel["targets"]]


EXPRESSIONS = [rule["expr"] for rule in rules()] + [target["expr"] for target in targets()]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_asks_for_what_there_is(expression: str) -> None:
    known = exposed()
    names = set(NAME.findall(expression))
    assert names <= known.keys(), names - known.keys()
    assert names or expression.startswith("up{")
    for name, selected in SELECTOR.findall(expression):
        assert set(LABEL.findall(selected)) <= known[name], expression
    every = set().union(*(known[name] for name in names))
    for grouped in GROUPED.findall(expression):
        assert {label.strip() for label in grouped.split(",")} <= every, expression
    for opening, closing in ("()", "[]", "{}"):
        assert expression.count(opening) == expression.count(closing), expression


def test_rules_say_what_they_mean_and_what_to_do() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names) > 5
    for rule in rules():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "1m"))
        assert rule["labels"]["severity"] in ("page", "warn")
        assert set(rule["annotations"]) == {"summary", "action"}


def test_legends_use_labels_that_there_are() -> None:
    known = exposed()
    for target in targets():
        names = NAME.findall(target["expr"])
        labels = set().union(*(known[name] for name in names))
        assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= labels, target


def test_the_board_shows_every_metric() -> None:
    shown = {name for target in targets() for name in NAME.findall(target["expr"])}
    for name in exposed():
        if not name.endswith(("_sum", "_count")):
            assert name in shown, name

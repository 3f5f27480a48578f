"""Lines of the log that strangers cause as often as they like: one now and then for each of them.

Pure: time is handed in.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from headwater.core.limits import REFUSAL_LOG_S, STRANGERS_LOGGED_MAX


@dataclass(slots=True)
class _Told:
    at_s: float
    since: int = 0  # that were not told


class Seldom:
    """By whoever causes them; the longest ago are forgotten."""

    def __init__(self) -> None:
        self._told: OrderedDict[str, _Told] = OrderedDict()

    def due(self, who: str, now_s: float) -> int | None:
        """How many there were since the last one that was told, this one included; None: not now."""
        told = self._told.get(who)
        if told is not None and now_s - told.at_s < REFUSAL_LOG_S:
            told.since += 1
            return None
        self._told[who] = _Told(now_s)
        self._told.move_to_end(who)
        if len(self._told) > STRANGERS_LOGGED_MAX:
            self._told.popitem(last=False)
        return 1 if told is None else told.since + 1

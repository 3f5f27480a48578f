"""Only roles of the product itself may do everything: the others are not let into the operator's address."""

from __future__ import annotations

STATEMENTS = ("UPDATE role SET superuser = 0 WHERE id NOT LIKE 's%'",)

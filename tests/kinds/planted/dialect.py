"""What statements ask of a kind; nobody makes a source of this one."""

from tests.kinds.lines.dialect import DIALECT as DIALECT

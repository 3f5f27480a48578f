"""SQL types: one table of facts, and the one stored form of each.

A value has the same form everywhere outside an engine: in change files and
states, on the socket between the processes, in result batches on their way to
a client.  That form (`stored`) is one that Parquet, Delta, Spark and DuckDB agree
on; each engine's generator turns it into its own working type and back.

    type                     stored as
    int2 int4 int8           int16 int32 int64
    uint2 uint4 uint8        int32 int64 decimal(20,0)      Spark and Delta know no unsigned
    numeric with a scale     decimal(38, scale)             exact, or an error; the greatest one is NaN
    numeric without          canonical text: no exponent, no needless zeros, NaN/Infinity by name
    time                     int64 microseconds since midnight (24:00:00 is allowed)
    date                     days since 1970; the greatest number is infinity, the same below zero -infinity
    timestamp, timestamptz   microseconds, without a zone and in UTC; infinities as those of dates
    interval                 struct(months int32, days int32, microseconds int64)
    uuid, json, jsonb        canonical text
    oid, reg*, mz_timestamp  int64
    array                    struct(elements: list of the element's form, shape: list of int32); elements
                             row by row, shape NULL for one dimension that counts from 1 and for {},
                             else [dimensions, length of each, lower bound of each]
    list                     list of the element's form
    map                      map from text to the element's form
    record                   struct of the fields' forms
    int2vector               list of int16

Stored forms are named by strings here, so that this module stays free of
pyarrow; `formats/engine_types.py` says what Arrow and the engines call them.
"""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass, replace
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type with its modifiers.

    `scale` is the scale of a numeric and the precision of a timestamp or time;
    `length` that of char and varchar; `element` the content of an array, list or
    map; `fields` those of a record.

    `zone` is whose clocks the texts of a timestamptz or tstzrange show, empty for UTC.  It says how
    texts are made and read (`in_zone`), not what a value is: no column has one.
    """

    kind: str
    scale: int | None = None
    length: int | None = None
    element: SqlType | None = None
    fields: tuple[tuple[str, SqlType], ...] = ()
    zone: str = ""

    def __str__(self) -> str:
        return format_type(self)

    def bare(self) -> SqlType:
        """The same type without length or precision; a numeric keeps nothing either."""
        return replace(self, scale=None, length=None)


Family = Literal["", "signed", "unsigned", "float", "numeric", "text", "registered"]
"""Types of numbers and texts that are mostly treated alike; and those that are numbers of catalog objects."""

Modifier = Literal["", "length", "scale", "precision"]
"""What the number behind a type's name means: characters, digits after the point, digits of seconds."""

Compared = Literal[
    "plainly", "as another", "as float", "as char", "as byte", "as interval", "as numeric", "as jsonb",
    "by text", "never", "not yet",
]  # fmt: skip
"""How values compare.

    plainly      the engines do it as PostgreSQL does
    as another   there are no operators of its own: as values of the type that it becomes, or part by part
    as float     plainly, but -0 equals 0
    as char      without blanks at the end
    as byte      plainly, but bytes beyond ASCII come last
    as interval  by length: '1 month' equals '30 days'
    as numeric   without a scale they are texts, which order as the numbers do that they are of
    as jsonb     documents, equal if their texts are; ordered by a key
    by text      equal if their texts are; not ordered
    never        there are no operators
    not yet      PostgreSQL has operators, we do not
"""

Immutable = Literal["", "values", "clocks"]
"""Among kinds of which the same is said casts do not follow the session's settings, nor a catalog: of
constants they are made when a query is planned."""


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """All that is to be known of a type but functions (formats/kinds/): what PostgreSQL's catalog and wire
    protocol say of it, what engines make of it, and what else types are told apart by."""

    name: str  # as format_type() prints it
    pg_name: str  # as pg_type.typname has it
    oid: int
    array_oid: int
    size: int  # typlen: bytes, -1 is variable
    category: str  # typcategory
    stored: str
    aliases: tuple[str, ...] = ()
    _: KW_ONLY
    duckdb: str = ""  # what it computes with, where that is not the stored form
    family: Family = ""
    modifier: Modifier = ""
    compared: Compared = "plainly"
    immutable: Immutable = "values"
    preferred: bool = False  # typispreferred: the one of its category that others turn into most willingly
    collation_oid: int = 0  # typcollation
    bounds: tuple[int, int] | None = None  # the least and the greatest of whole numbers
    bits: int | None = None  # of a float, that count
    fraction_digits: int | None = None  # of seconds, unless the modifier says how many
    bound: str = ""  # the kind of a range's bounds
    moments: bool = False  # whether values are moments or hold some: a zone is needed to show them
    readable: bool = True  # whether casts read it from a text; if not, it is a part of one, or asks a catalog

    @property
    def schema_name(self) -> str:
        """The schema that it is in."""
        return "mz_catalog" if self.oid >= _OID_OF_USERS_MIN else "pg_catalog"


_OIDS: Final = (0, 2**32 - 1)
_OID_OF_USERS_MIN: Final = 16_384  # PostgreSQL's own are below


def _registered(name: str, oid: int, array_oid: int, aliases: tuple[str, ...] = ()) -> TypeFacts:
    """Of a type whose values are numbers of things in the catalog."""
    return TypeFacts(
        name, name, oid, array_oid, 4, "N", "int64", aliases,
        family="registered", compared="as another", immutable="", bounds=_OIDS, readable=False,
    )  # fmt: skip


def _range(name: str, oid: int, array_oid: int, bound: str, moments: bool = False) -> TypeFacts:
    return TypeFacts(
        name, name, oid, array_oid, -1, "R", "string",
        compared="not yet", immutable="", bound=bound, moments=moments,
    )  # fmt: skip


def _compound(
    name: str, pg_name: str, oid: int, array_oid: int, size: int, category: str, stored: str
) -> TypeFacts:
    """Of what is made of others, or of none."""
    return TypeFacts(
        name, pg_name, oid, array_oid, size, category, stored,
        compared="as another", immutable="", readable=False,
    )  # fmt: skip


# fmt: off
FACTS: Final[dict[str, TypeFacts]] = {
    "bool": TypeFacts("boolean", "bool", 16, 1000, 1, "B", "bool", ("boolean",), preferred=True),
    "int2": TypeFacts(
        "smallint", "int2", 21, 1005, 2, "N", "int16", ("smallint",),
        family="signed", bounds=(-(2**15), 2**15 - 1),
    ),
    "int4": TypeFacts(
        "integer", "int4", 23, 1007, 4, "N", "int32", ("integer", "int"),
        family="signed", bounds=(-(2**31), 2**31 - 1),
    ),
    "int8": TypeFacts(
        "bigint", "int8", 20, 1016, 8, "N", "int64", ("bigint",),
        family="signed", bounds=(-(2**63), 2**63 - 1),
    ),
    "uint2": TypeFacts(
        "uint2", "uint2", 16460, 16461, 2, "N", "int32",
        duckdb="USMALLINT", family="unsigned", bounds=(0, 2**16 - 1),
    ),
    "uint4": TypeFacts(
        "uint4", "uint4", 16462, 16463, 4, "N", "int64",
        duckdb="UINTEGER", family="unsigned", bounds=(0, 2**32 - 1),
    ),
    "uint8": TypeFacts(
        "uint8", "uint8", 16464, 16465, 8, "N", "decimal(20,0)",
        duckdb="UBIGINT", family="unsigned", bounds=(0, 2**64 - 1),
    ),
    "float4": TypeFacts(
        "real", "float4", 700, 1021, 4, "N", "float", ("real",),
        family="float", compared="as float", bits=24,
    ),
    "float8": TypeFacts(
        "double precision", "float8", 701, 1022, 8, "N", "double", ("double precision", "double", "float"),
        family="float", compared="as float", preferred=True, bits=53,
    ),
    "numeric": TypeFacts(
        "numeric", "numeric", 1700, 1231, -1, "N", "string", ("decimal", "dec"),
        family="numeric", modifier="scale", compared="as numeric",
    ),
    "text": TypeFacts(
        "text", "text", 25, 1009, -1, "S", "string", ("string",),
        family="text", preferred=True, collation_oid=100,
    ),
    "varchar": TypeFacts(
        "character varying", "varchar", 1043, 1015, -1, "S", "string", ("character varying",),
        family="text", modifier="length", compared="as another", collation_oid=100,
    ),
    "char": TypeFacts(
        "character", "bpchar", 1042, 1014, -1, "S", "string", ("character", "bpchar"),
        family="text", modifier="length", compared="as char", collation_oid=100,
    ),
    "name": TypeFacts(
        "name", "name", 19, 1003, 64, "S", "string",
        family="text", immutable="", collation_oid=950,
    ),
    '"char"': TypeFacts(
        '"char"', "char", 18, 1002, 1, "Z", "string",
        compared="as byte", immutable="", readable=False,
    ),
    "bytea": TypeFacts("bytea", "bytea", 17, 1001, -1, "U", "binary", ("bytes",)),
    "date": TypeFacts("date", "date", 1082, 1182, 4, "D", "date", immutable="clocks", fraction_digits=0),
    "time": TypeFacts(
        "time without time zone", "time", 1083, 1183, 8, "D", "int64", ("time without time zone",),
        modifier="precision", immutable="clocks", fraction_digits=6,
    ),
    "timestamp": TypeFacts(
        "timestamp without time zone", "timestamp", 1114, 1115, 8, "D", "timestamp",
        ("timestamp without time zone",), modifier="precision", immutable="clocks", fraction_digits=6,
    ),
    "timestamptz": TypeFacts(
        "timestamp with time zone", "timestamptz", 1184, 1185, 8, "D", "timestamptz",
        ("timestamp with time zone",),
        modifier="precision", immutable="", preferred=True, fraction_digits=6, moments=True,
    ),
    "interval": TypeFacts(
        "interval", "interval", 1186, 1187, 16, "T", "interval",
        duckdb="INTERVAL", compared="as interval", immutable="clocks", preferred=True, fraction_digits=6,
    ),
    "uuid": TypeFacts("uuid", "uuid", 2950, 2951, 16, "U", "string"),
    "json": TypeFacts("json", "json", 114, 199, -1, "U", "string", compared="never"),
    "jsonb": TypeFacts("jsonb", "jsonb", 3802, 3807, -1, "U", "string", compared="as jsonb"),
    "oid": TypeFacts("oid", "oid", 26, 1028, 4, "N", "int64", preferred=True, bounds=_OIDS),
    "regclass": _registered("regclass", 2205, 2210),
    "regtype": _registered("regtype", 2206, 2211),
    # Of functions and operators only the name is looked up, so the other spellings mean the same.
    "regproc": _registered("regproc", 24, 1008, ("regprocedure", "regoper", "regoperator")),
    "regnamespace": _registered("regnamespace", 4089, 4090),
    "int4range": _range("int4range", 3904, 3905, "int4"),
    "int8range": _range("int8range", 3926, 3927, "int8"),
    "numrange": _range("numrange", 3906, 3907, "numeric"),
    "daterange": _range("daterange", 3912, 3913, "date"),
    "tsrange": _range("tsrange", 3908, 3909, "timestamp"),
    "tstzrange": _range("tstzrange", 3910, 3911, "timestamptz", moments=True),
    "mz_timestamp": TypeFacts(
        "mz_timestamp", "mz_timestamp", 16552, 16553, 8, "U", "int64",
        immutable="", bounds=(0, 2**63 - 1),
    ),
    "mz_aclitem": TypeFacts(
        "mz_aclitem", "mz_aclitem", 16566, 16567, -1, "U", "string",
        compared="by text", immutable="", readable=False,
    ),
    "unknown": _compound("unknown", "unknown", 705, 0, -2, "X", "string"),
    "void": _compound("void", "void", 2278, 0, 4, "P", "string"),
    "record": _compound("record", "record", 2249, 2287, -1, "P", "struct"),
    "list": _compound("list", "list", 16384, 0, -1, "U", "list"),
    "map": _compound("map", "map", 16385, 0, -1, "U", "map"),
    "int2vector": _compound("int2vector", "int2vector", 22, 1006, -1, "A", "int16 list"),
    "array": _compound("array", "array", 0, 0, -1, "A", "struct"),
}
# fmt: on
"""Facts by kind.  An array's oid is its element's `array_oid`."""

BOOL: Final = SqlType("bool")
INT2: Final = SqlType("int2")
INT4: Final = SqlType("int4")
INT8: Final = SqlType("int8")
UINT2: Final = SqlType("uint2")
UINT4: Final = SqlType("uint4")
UINT8: Final = SqlType("uint8")
FLOAT4: Final = SqlType("float4")
FLOAT8: Final = SqlType("float8")
NUMERIC: Final = SqlType("numeric")
TEXT: Final = SqlType("text")
NAME: Final = SqlType("name")
BYTEA: Final = SqlType("bytea")
DATE: Final = SqlType("date")
TIME: Final = SqlType("time")
TIMESTAMP: Final = SqlType("timestamp")
TIMESTAMPTZ: Final = SqlType("timestamptz")
INTERVAL: Final = SqlType("interval")
UUID: Final = SqlType("uuid")
JSON: Final = SqlType("json")
JSONB: Final = SqlType("jsonb")
OID: Final = SqlType("oid")
INT2VECTOR: Final = SqlType("int2vector")
MZ_TIMESTAMP: Final = SqlType("mz_timestamp")
MZ_ACLITEM: Final = SqlType("mz_aclitem")
UNKNOWN: Final = SqlType("unknown")


def kinds_of(*families: Family) -> tuple[str, ...]:
    """The kinds of these families."""
    return tuple(kind for kind, facts in FACTS.items() if facts.family in families)


SIGNED: Final = kinds_of("signed")
UNSIGNED: Final = kinds_of("unsigned")
FLOATS: Final = kinds_of("float")
NUMBERS: Final = kinds_of("signed", "unsigned", "float", "numeric")
TEXTS: Final = kinds_of("text")
REGISTERED: Final = kinds_of("registered")
"""Kinds whose values are numbers of things in the catalog, shown as their names."""

RANGES: Final[dict[str, SqlType]] = {
    kind: SqlType(facts.bound) for kind, facts in FACTS.items() if facts.bound
}
"""The kinds of ranges, and the type of their bounds."""

NUMERIC_DIGITS_MAX: Final = 38

_BY_NAME: Final[dict[str, str]] = {
    name: kind for kind, facts in FACTS.items() for name in (kind, facts.name, facts.pg_name, *facts.aliases)
}
# "char" with quotes is PostgreSQL's one-byte type; the bare word is char(n).
_BY_NAME["char"] = "char"


def numeric(scale: int | None = None) -> SqlType:
    """A numeric with this scale, or the unconstrained one."""
    return SqlType("numeric", scale=scale)


def array_of(element: SqlType) -> SqlType:
    """An array, of any number of dimensions."""
    return SqlType("array", element=element)


def list_of(element: SqlType) -> SqlType:
    """Materialize's list."""
    return SqlType("list", element=element)


def map_of(element: SqlType) -> SqlType:
    """A map from text."""
    return SqlType("map", element=element)


_TYPE_MODIFIER: Final = re.compile(r"\s*\(\s*\d+\s*(?:,\s*\d+\s*)?\)")
# No value has one of these types, but clients ask by them which functions there are.
_PSEUDO_TYPES: Final = {
    "any": 2276,
    "anyarray": 2277,
    "anyelement": 2283,
    "cstring": 2275,
    "event_trigger": 3838,
    "internal": 2281,
    "language_handler": 2280,
    "trigger": 2279,
}


def kind_of_name(name: str) -> str | None:
    """The kind a type name means, in any of its spellings; None when nobody knows it."""
    return _BY_NAME.get(name.lower())


def oid_of_name(text: str) -> int | None:
    """The oid of the type that a text names, in any spelling and with any modifier; digits are one."""
    if text.isdecimal():
        return int(text)
    name = _TYPE_MODIFIER.sub("", text.strip())
    array = name.endswith("[]")
    name = name.removesuffix("[]").strip()
    name = re.sub(r'^"?(pg_catalog|mz_catalog)"?\.', "", name)
    if name != '"char"':
        name = " ".join(name.replace('"', "").split())
        # Both of PostgreSQL's catalogs and its own output spell an array's type this way, too.
        if name.startswith("_"):
            array, name = True, name[1:]
    kind = kind_of_name(name)
    if kind is None:
        return None if array else _PSEUDO_TYPES.get(name)
    return (FACTS[kind].array_oid if array else FACTS[kind].oid) or None


def bounds_of(kind: str) -> tuple[int, int]:
    """The least and the greatest value of whole numbers."""
    bounds = FACTS[kind].bounds
    if bounds is None:
        raise ValueError(f"values of {kind} are no whole numbers")
    return bounds


def oid_of(type_: SqlType) -> int:
    """The oid clients are told."""
    if type_.kind == "array" and type_.element is not None:
        return FACTS[type_.element.kind].array_oid
    return FACTS[type_.kind].oid


_BY_OID: Final[dict[int, SqlType]] = {
    **{facts.oid: SqlType(kind) for kind, facts in FACTS.items() if facts.oid},
    **{facts.array_oid: array_of(SqlType(kind)) for kind, facts in FACTS.items() if facts.array_oid},
}


def type_of_oid(oid: int) -> SqlType | None:
    """The type behind an oid; None when there is none."""
    return _BY_OID.get(oid)


def size_of(type_: SqlType) -> int:
    """typlen."""
    return FACTS[type_.kind].size


def modifier_of(type_: SqlType) -> int:
    """typmod as PostgreSQL packs it, -1 without one."""
    match FACTS[type_.kind].modifier:
        case "length" if type_.length is not None:
            return type_.length + 4
        case "scale" if type_.scale is not None:
            return ((NUMERIC_DIGITS_MAX + 1) << 16 | type_.scale) + 4
        case "precision" if type_.scale is not None:
            return type_.scale
    return -1


def format_type(type_: SqlType) -> str:
    """As format_type() and error messages print it: `numeric(39,2)`, `integer[]`."""
    if type_.element is not None:
        inner = format_type(type_.element)
        match type_.kind:
            case "array":
                return f"{inner}[]"
            case "list":
                return f"{inner} list"
            case "map":
                return f"map[text=>{inner}]"
    facts = FACTS[type_.kind]
    name = facts.name
    match facts.modifier:
        case "length" if type_.length is not None:
            return f"{name}({type_.length})"
        case "scale" if type_.scale is not None:
            return f"{name}({NUMERIC_DIGITS_MAX + 1},{type_.scale})"
        case "precision" if type_.scale is not None:
            first, _, rest = name.partition(" ")
            return f"{first}({type_.scale}) {rest}"
    if type_.kind == "record" and type_.fields:
        return f"record({','.join(f'{n}: {format_type(t)}' for n, t in type_.fields)})"
    return name


def holds_moments(type_: SqlType) -> bool:
    """Whether values of a type are moments in time, or have some in them: a zone is needed to show them."""
    parts = (*(field for _, field in type_.fields), *((type_.element,) if type_.element else ()))
    return FACTS[type_.kind].moments or any(map(holds_moments, parts))


def in_zone(type_: SqlType, zone: str) -> SqlType:
    """The type with its texts in a zone."""
    if not zone or not holds_moments(type_):
        return type_
    if FACTS[type_.kind].moments:
        return replace(type_, zone=zone)
    return replace(
        type_,
        element=None if type_.element is None else in_zone(type_.element, zone),
        fields=tuple((name, in_zone(field, zone)) for name, field in type_.fields),
    )


def unconstrained(type_: SqlType) -> bool:
    """Whether values of a type are numerics as text."""
    return type_.kind == "numeric" and type_.scale is None


def holds_floats(type_: SqlType) -> bool:
    """Whether values of a type are floats, or have some in them: -0 and 0 are equal and not the same."""
    parts = (*(field for _, field in type_.fields), *((type_.element,) if type_.element else ()))
    return type_.kind in FLOATS or any(map(holds_floats, parts))


def holds_fields(type_: SqlType) -> bool:
    """Whether values of a type are stored as several fields, or have such values in them."""
    parts = (*(field for _, field in type_.fields), *((type_.element,) if type_.element else ()))
    return type_.kind in ("array", "record", "interval") or any(map(holds_fields, parts))


def stored(type_: SqlType) -> str:
    """The name of a scalar's stored form; containers are resolved through their parts."""
    if type_.kind == "numeric" and type_.scale is not None and 0 <= type_.scale <= NUMERIC_DIGITS_MAX:
        return f"decimal({NUMERIC_DIGITS_MAX},{type_.scale})"
    return FACTS[type_.kind].stored


def type_to_json(type_: SqlType) -> object:
    """The durable and wire form of a type: its kind, or an object when there is more to say."""
    value: dict[str, object] = {"kind": type_.kind}
    if type_.scale is not None:
        value["scale"] = type_.scale
    if type_.length is not None:
        value["length"] = type_.length
    if type_.element is not None:
        value["element"] = type_to_json(type_.element)
    if type_.fields:
        value["fields"] = [[name, type_to_json(field)] for name, field in type_.fields]
    if type_.zone:
        value["zone"] = type_.zone
    return type_.kind if len(value) == 1 else value


def type_from_json(value: object) -> SqlType:
    """The reverse of `type_to_json`."""
    if isinstance(value, str):
        return SqlType(value)
    if not isinstance(value, dict):
        raise ValueError(f"not a type: {value!r}")
    element = value.get("element")
    return SqlType(
        value["kind"],
        scale=value.get("scale"),
        length=value.get("length"),
        element=None if element is None else type_from_json(element),
        fields=tuple((name, type_from_json(field)) for name, field in value.get("fields", ())),
        zone=value.get("zone", ""),
    )

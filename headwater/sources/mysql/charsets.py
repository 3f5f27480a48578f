"""Charsets of MySQL and MariaDB: their texts in UTF-8, as the server itself would give them.

Python's codecs are near; where a server has other characters in mind, or any at all, it is right.

    of one byte     a table of 256 characters each
    of several      a codec for many values at once, with line breaks between them: no character has that byte
                    within it

Tests compare all of it with what servers say.  Not here: eucjpms, of which there is no codec.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

# fmt: off
_SINGLE: Final[dict[str, tuple[str, tuple[tuple[int, str], ...]]]] = {
    "ascii": ("ascii", ()),
    "armscii8": ("latin_1", (
        (161, "❁§։)(»«—.՝,-՟…՜՛՞ԱաԲբԳգԴդԵեԶզԷէԸըԹթԺժԻիԼլԽխԾծԿկ"),
        (208, "ՀհՁձՂղՃճՄմՅյՆնՇշՈոՉչՊպՋջՌռՍսՎվՏտՐրՑցՒւՓփՔքՕօՖֆ’'"),
    )),
    "cp1250": ("cp1250", ()),
    "cp1251": ("cp1251", ()),
    "cp1256": ("cp1256", (
        (138, "?"), (143, "?"), (152, "?"), (154, "?"), (159, "?"), (170, "?"), (192, "?"), (255, "?"),
    )),
    "cp1257": ("cp1257", ()),
    "cp850": ("cp850", ()),
    "cp852": ("cp852", ()),
    "cp866": ("cp866", ((252, "ⁿ²"),)),
    "dec8": ("latin_1", (
        (164, "?"), (166, "?"), (168, "¤"), (172, "????"), (180, "?"), (184, "?"), (190, "?"), (208, "?"),
        (215, "Œ"), (221, "Ÿ?"), (240, "?"), (247, "œ"), (253, "ÿ??"),
    )),
    "geostd8": ("ascii", (
        (128, "€"), (130, "‚"), (132, "„…†‡"), (137, "‰"), (139, "‹"), (145, "‘’“”•–—"), (155, "›"),
        (160, "\xa0¡¢£¤¥¦§¨©ª«¬\xad®¯°±²³´µ¶·¸¹º»¼½¾¿აბგდევზჱთიკლმნჲოპჟრსტჳუფქღყშჩცძწჭხჴჯჰჵ"), (253, "№"),
    )),
    "greek": ("iso8859_7", ((161, "ʽʼ"), (164, "??"), (170, "?"),)),
    "hebrew": ("iso8859_8", ((175, "‾"),)),
    "hp8": ("hp_roman8", ()),
    "keybcs2": ("ascii", (
        (128, "ČüéďäĎŤčěĚĹÍľĺÄÁÉžŽôöÓůÚýÖÜŠĽÝŘťáíóúňŇŮÔšřŕŔ¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧"),
        (208, "╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\xa0"),
    )),
    "koi8r": ("koi8_r", ()),
    "koi8u": ("koi8_u", ((149, "•"),)),
    "latin1": ("cp1252", ((129, "\x81"), (141, "\x8d"), (143, "\x8f\x90"), (157, "\x9d"),)),
    "latin2": ("iso8859_2", ()),
    "latin5": ("iso8859_9", ()),
    "latin7": ("iso8859_13", ()),
    "macce": ("mac_latin2", ()),
    "macroman": ("mac_roman", ()),
    "swe7": ("ascii", ((64, "É"), (91, "ÄÖÅÜ"), (96, "é"), (123, "äöåü?"),)),
    "tis620": ("tis_620", ((160, "�"), (219, "����"), (252, "����"),)),
}
"""The codec, what differs from it: from which byte on, which characters.  What is none of either is a `?`."""
_COLLATIONS: Final = """
    big5 1 84 1025 1108
    latin2 2 9 21 27 77 1033 1101
    dec8 3 69 1027 1093
    cp850 4 80 1028 1104
    latin1 5 8 15 31 47-49 94 1032 1071
    hp8 6 72 1030 1096
    koi8r 7 74 1031 1098
    swe7 10 82 1034 1106
    ascii 11 65 1035 1089
    ujis 12 91 1036 1115
    sjis 13 88 1037 1112
    cp1251 14 23 50-52 1074-1075
    hebrew 16 71 1040 1095
    tis620 18 89 1042 1113
    euckr 19 85 1043 1109
    latin7 20 41-42 79 1065 1103
    koi8u 22 75 1046 1099
    gb2312 24 86 1048 1110
    greek 25 70 1049 1094
    cp1250 26 34 44 66 99 1050 1090
    gbk 28 87 1052 1111
    cp1257 29 58-59 1082-1083
    latin5 30 78 1054 1102
    armscii8 32 64 1056 1088
    utf8 33 76 83 192-223 576-578 1057 1107 1216 1238 2048-2215 2232-2247
    ucs2 35 90 128-159 640-642 1059 1114 1152 1174 2560-2727 2744-2759
    cp866 36 68 1060 1092
    keybcs2 37 73 1061 1097
    macce 38 43 1062 1067
    macroman 39 53 1063 1077
    cp852 40 81 1064 1105
    utf8 45-46 224-247 255-323 608-610 1069-1070 1248 1270 2304-2471 2488-2503
    utf16 54-55 101-124 672-674 1078-1079 1125 1147 2816-2983 3000-3015
    utf16le 56 62 1080 1086
    cp1256 57 67 1081 1091
    utf32 60-61 160-183 736-738 1084-1085 1184 1206 3072-3239 3256-3271
    binary 63
    geostd8 92-93 1116-1117
    cp932 95-96 1119-1120
    eucjpms 97-98 1121-1122
    gb18030 248-250
"""
# fmt: on


@dataclass(frozen=True, slots=True)
class _Several:
    """A codec of several bytes."""

    codec: str
    others: Mapping[int, str] = field(default_factory=dict)  # its characters that are others on the server
    doubles: tuple[bytes, ...] = ()  # further codes of a character, which are none on the server


_SEVERAL: Final[dict[str, _Several]] = {
    "big5": _Several(
        "big5",
        dict.fromkeys(map(ord, "╴￣ˍ"), "\ufffd"),
        (b"\xa1\xfe", b"\xa2\x40", b"\xa2\xcc", b"\xa2\xce"),  # of ／ ＼ 十 卅
    ),
    "cp932": _Several("cp932"),
    "euckr": _Several("cp949"),
    # Its version of 2005 has exchanged two.
    "gb18030": _Several("gb18030", {0xE7C7: "\u1e3f", 0x1E3F: "\ue7c7"}),
    "gb2312": _Several("gb2312"),
    "gbk": _Several("gbk"),
    "sjis": _Several("shift_jis", {0xFF3C: "\\"}),
    "ujis": _Several("euc_jp"),
}
_UNITS: Final = {
    "ucs2": ("utf-16-be", ">u2"),
    "utf16": ("utf-16-be", ">u2"),
    "utf16le": ("utf-16-le", "<u2"),
    "utf32": ("utf-32-be", ">u4"),
}
_UTF8: Final = ("utf8", "utf8mb3", "utf8mb4")
BINARY: Final = "binary"
_BIG5_LETTERS: Final = (0xF9D6, "碁銹裏墻恒粧嫺")
_UNKNOWN: Final = "headwater: letters of charsets that have no character"


def _letter(error: UnicodeError) -> tuple[str, int]:
    """Of a letter that Python does not know: in EUC one that users define, else what servers print for it."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    rest = error.object[error.start : error.start + 3]
    size = 3 if error.encoding == "euc_jp" and rest[0] == _EUC_THREE else 2
    if len(rest) < size or rest[size - 1] < _TRAIL_MIN:
        raise error
    if error.encoding == "euc_jp" and rest[size - 2] >= _EUC_DEFINED[0]:
        place = (rest[size - 2] - _EUC_DEFINED[0]) * 94 + rest[size - 1] - 0xA1
        return chr(_EUC_DEFINED[size - 1] + place), error.start + size
    place = int.from_bytes(rest[:2], "big") - _BIG5_LETTERS[0]
    known = error.encoding == "big5" and 0 <= place < len(_BIG5_LETTERS[1])
    return _BIG5_LETTERS[1][place] if known else "?", error.start + size


_TRAIL_MIN: Final = 0x30
_EUC_THREE: Final = 0x8F
_EUC_DEFINED: Final = (0xF5, 0xE000, 0xE3AC)  # the first row, and its characters in two bytes and in three
codecs.register_error(_UNKNOWN, _letter)


@cache
def _of_collations() -> dict[int, str]:
    found = {}
    for line in _COLLATIONS.split("\n"):
        name, *ranges = line.split() or [""]
        for one in ranges:
            first, _, last = one.partition("-")
            found.update(dict.fromkeys(range(int(first), int(last or first) + 1), name))
    return found


def charset_of(collation: int) -> str | None:
    """The charset of a collation by its number; None if it is not known."""
    return _of_collations().get(collation)


def readable(charset: str) -> bool:
    """Whether texts of a charset can be read."""
    return charset in _UTF8 or charset in _SINGLE or charset in _SEVERAL or charset in _UNITS


def decoded(values: pa.Array, charset: str) -> tuple[pa.Array, dict[int, str]]:
    """Texts, and by place what there is of those that are none, which are NULL."""
    if charset in _UTF8:
        texts = pa.Array.from_buffers(
            pa.string(), len(values), values.buffers(), values.null_count, values.offset
        )
        try:
            texts.validate(full=True)
            return texts, {}
        except pa.ArrowInvalid:
            return _one_by_one(values, _Several("utf-8"))
    if charset in _SINGLE:
        return _single(values, charset), {}
    if charset in _SEVERAL:
        return _several(values, _SEVERAL[charset], np.dtype("u1"))
    if charset in _UNITS:
        codec, unit = _UNITS[charset]
        return _several(values, _Several(codec), np.dtype(unit))
    raise ValueError(f"texts of the character set {charset} cannot be read")


@cache
def _table(charset: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Of each byte: its character in UTF-8, in three bytes, and how many of these there are."""
    codec, others = _SINGLE[charset]
    characters = [bytes([byte]).decode(codec, "replace").replace("\ufffd", "?") for byte in range(256)]
    for start, text in others:
        characters[start : start + len(text)] = text
    coded = [character.encode() for character in characters]
    table = np.frombuffer(b"".join(code.ljust(3, b"\0") for code in coded), np.uint8).reshape(256, 3)
    return table, np.array([len(code) for code in coded], np.int64)


def _single(values: pa.Array, charset: str) -> pa.Array:
    offsets, data = _parts(values)
    table, sizes = _table(charset)
    size = sizes[data]
    ends = np.concatenate(([0], np.cumsum(size)))
    texts = np.empty(ends[-1], np.uint8)
    for byte in range(3):
        there = size > byte
        texts[ends[:-1][there] + byte] = table[data[there], byte]
    return _strings(ends[offsets], texts, values)


def _parts(values: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Offsets from zero, and the bytes."""
    _, offsets, data = values.buffers()
    at = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    raw = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return at - at[0], raw[at[0] : at[-1]]


def _strings(offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8], like: pa.Array) -> pa.Array:
    valid = np.packbits(like.is_valid().to_numpy(zero_copy_only=False), bitorder="little")
    buffers = [pa.py_buffer(valid), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(like), buffers)


def _several(values: pa.Array, how: _Several, unit: np.dtype) -> tuple[pa.Array, dict[int, str]]:
    if not len(values):
        return pa.array([], pa.string()), {}
    between = "\n".encode(how.codec)
    raw = between.join(value or b"" for value in values.to_pylist())
    if any(code in raw for code in how.doubles):
        return _one_by_one(values, how)
    try:
        text = codecs.decode(raw, how.codec, _UNKNOWN).translate(how.others)
    except UnicodeDecodeError:
        return _one_by_one(values, how)
    coded = np.frombuffer(text.encode(), np.uint8)
    breaks = np.flatnonzero(coded == ord("\n"))
    before = np.flatnonzero(np.frombuffer(raw, unit) == ord("\n")) if len(raw) % unit.itemsize == 0 else None
    if before is None or len(before) != len(breaks):
        return _one_by_one(values, how)
    lengths = _parts(values)[0][1:] - _parts(values)[0][:-1]
    ends = (np.cumsum(lengths) // unit.itemsize + np.arange(len(lengths)))[:-1]
    ours = breaks[np.searchsorted(before, ends)]
    offsets = np.concatenate(([0], ours - np.arange(len(ours)), [len(coded) - len(ours)]))
    return _strings(offsets, np.delete(coded, ours), values), {}


def _one_by_one(values: pa.Array, how: _Several) -> tuple[pa.Array, dict[int, str]]:
    """Where not all of them are texts, or some may have doubles."""
    texts: list[str | None] = []
    odd: dict[int, str] = {}
    for place, value in enumerate(values.to_pylist()):
        try:
            texts.append(None if value is None else _text(value, how))
        except UnicodeDecodeError:
            texts.append(None)
            odd[place] = codecs.decode(value, how.codec, "backslashreplace")
    return pa.array(texts, pa.string()), odd


def _text(value: bytes, how: _Several) -> str:
    if not any(code in value for code in how.doubles):
        return codecs.decode(value, how.codec, _UNKNOWN).translate(how.others)
    letters, at = [], 0
    while at < len(value):
        code = value[at : at + (1 if value[at] < 0x80 else 2)]
        letter = "\ufffd" if code in how.doubles else codecs.decode(code, how.codec, _UNKNOWN)
        letters.append(letter.translate(how.others))
        at += len(code)
    return "".join(letters)

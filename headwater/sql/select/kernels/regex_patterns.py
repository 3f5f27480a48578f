"""PostgreSQL's regular expressions, translated to those of the `regex` package where both mean the same.

A pattern is read piece by piece and written anew; what has no equal (collating elements,
basic expressions, embedded directors) is refused with 0A000.

PostgreSQL takes the longest of the leftmost matches, the package the first it finds.  Whether
there is a match never depends on that, so `~` takes any pattern.  Functions that use the
matched text find the longest end by trying ends from the right, and refuse what would still
leave doubt: non-greedy quantifiers, and alternatives of different lengths inside groups.

Letters are Unicode's, as in a UTF-8 locale, digits ASCII's.  Without regard to case a character
stands for its one lower and its one upper case.

Not here: matching (regex.py), LIKE (letters.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import regex

from headwater.core.errors import UserError, not_supported
from headwater.sql.select.kernels.letters import letters_of_word, lower_letter, upper_letter

_SPACE: Final = " \\t\\n\\r\\f\\v\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000"
OF_WORD: Final = f"[{letters_of_word()}]"
_WORD: Final = f"{letters_of_word()}_"
# Classes that ask what belongs to a word stand beside the others of a bracket expression.
_LETTERS: Final = {
    "alnum": OF_WORD,
    "alpha": f"(?:(?![0-9])[{letters_of_word()}])",
    "word": f"[{_WORD}]",
}
_BEGINS: Final = f"(?<![{_WORD}])(?=[{_WORD}])"
_ENDS: Final = f"(?<=[{_WORD}])(?![{_WORD}])"
_CLASSES: Final = {
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": _SPACE,
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_EVERYWHERE: Final = ("digit", "space", "xdigit")  # the same beyond ASCII
_SHORT: Final = {"d": "0-9", "s": _SPACE}
_ANY: Final = "(?s:.)"
_CHARACTERS: Final = {
    "a": "\a",
    "b": "\b",
    "B": "\\",
    "e": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_CONSTRAINTS: Final = {
    "A": r"\A",
    "Z": r"\Z",
    "m": _BEGINS,
    "M": _ENDS,
    "y": f"(?:{_BEGINS}|{_ENDS})",
    "Y": f"(?!{_BEGINS}|{_ENDS})",
}


def invalid(why: str) -> UserError:
    """A pattern that is no regular expression (2201B)."""
    return UserError(f"invalid regular expression: {why}", "2201B")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A translated pattern, and what stands in the way of using its matched text."""

    source: str
    compiled: regex.Pattern[str]
    refused: str | None  # why the matched text may not be used
    longest: bool  # whether ends must be tried from the right
    quick: bool  # whether it takes a time that grows with the square of a text's length at most
    words: bool = False  # whether it asks what belongs to a word
    ascii_only: bool = False  # whether it asks what is known of ASCII only


@dataclass(slots=True)
class _Reader:
    """Reads a pattern once, from left to right."""

    text: str
    newlines: bool  # whether newlines are special to . [^] ^ $
    expanded: bool
    fold: bool = False
    words: bool = False
    ascii_only: bool = False
    place: int = 0
    depth: int = 0
    groups: int = 0
    lazy: bool = False
    branched: bool = False
    repeated: bool = False
    variable: int = 0
    group_repeated: bool = False
    dollars: int = 0
    anchored_inside: bool = False

    def peek(self) -> str:
        return self.text[self.place : self.place + 1]

    def take(self) -> str:
        character = self.peek()
        self.place += 1
        return character

    def translate(self) -> tuple[str, int | None]:
        """The rest of this level, and how many characters it matches when that is always the same."""
        parts: list[str] = []
        widths: list[int | None] = [0]
        while self.place < len(self.text):
            if self.expanded and self._skip_blank():
                continue
            if self.peek() == ")" and self.depth:
                break
            if self.peek() == "|":
                self.place += 1
                parts.append("|")
                widths.append(0)
                continue
            text, width = self._piece()
            parts.append(text)
            before = widths[-1]
            widths[-1] = None if before is None or width is None else before + width
        same = widths[0] if len(set(widths)) == 1 else None
        # Alternatives of one length cannot compete for the longest match.
        self.branched |= len(widths) > 1 and same is None
        return "".join(parts), same

    def _skip_blank(self) -> bool:
        if self.peek().isspace():
            self.place += 1
            return True
        if self.peek() == "#":
            while self.peek() not in ("\n", ""):
                self.place += 1
            return True
        return False

    def _piece(self) -> tuple[str, int | None]:
        groups_before = self.groups
        atom, quantifiable, width = self._atom()
        quantifier = self._quantifier()
        if not quantifier:
            return atom, width
        if not quantifiable:
            raise invalid("quantifier operand invalid")
        exact = re.fullmatch(r"\{(\d+)\}", quantifier)
        self.variable += exact is None
        self.group_repeated |= atom.startswith("(") and atom != _ANY
        # Which turn of a repeated group is remembered is the same only if all turns have one length.
        self.repeated |= width is None and self.groups > groups_before
        if self._quantifier():
            raise invalid("quantifier operand invalid")
        return atom + quantifier, None if exact is None or width is None else width * int(exact.group(1))

    def _atom(self) -> tuple[str, bool, int | None]:
        """A piece without its quantifier, whether it may have one, and its length."""
        character = self.take()
        match character:
            case "(":
                return self._group()
            case "[":
                return self._bracket(), True, 1
            case ".":
                return ("[^\\n]" if self.newlines else _ANY), True, 1
            case "^":
                return ("(?m:^)" if self.newlines else r"\A"), False, 0
            case "$":
                self.dollars += 1
                return ("(?m:$)" if self.newlines else r"\Z"), False, 0
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise invalid("quantifier operand invalid")
            case "{" if self.peek().isdigit():
                raise invalid("quantifier operand invalid")
            case ")":
                raise invalid("parentheses () not balanced")
        return self.literal(character), True, 1

    def literal(self, character: str) -> str:
        """A character by itself, in both cases if these are the same."""
        cases = {character, lower_letter(character), upper_letter(character)}
        if not self.fold or len(cases) == 1:
            return re.escape(character)
        return f"[{''.join(map(re.escape, sorted(cases)))}]"

    def _group(self) -> tuple[str, bool, int | None]:
        opening = "("
        quantifiable = True
        if self.peek() == "?":
            found = re.compile(r"\?(:|=|!|<=|<!)").match(self.text, self.place)
            if found is None:
                raise invalid("quantifier operand invalid")
            self.place = found.end()
            opening = f"({found.group()}"
            if found.group(1) != ":":
                quantifiable = False
                self.anchored_inside = True
        else:
            self.groups += 1
        self.depth += 1
        inside, width = self.translate()
        self.depth -= 1
        if self.take() != ")":
            raise invalid("parentheses () not balanced")
        return f"{opening}{inside})", quantifiable, width if quantifiable else 0

    def _quantifier(self) -> str:
        character = self.peek()
        if character and character in "*+?":
            self.place += 1
            return character + self._lazy()
        if character == "{":
            found = re.compile(r"\{(\d+)(?:(,)(\d*))?\}").match(self.text, self.place)
            if found is None:
                if self.text[self.place + 1 : self.place + 2].isdigit():
                    raise invalid("braces {} not balanced")
                return ""
            low, _, high = found.groups()
            if int(low) > 255 or (high and (int(high) > 255 or int(high) < int(low))):
                raise invalid("invalid repetition count(s)")
            self.place = found.end()
            return found.group() + self._lazy()
        return ""

    def _lazy(self) -> str:
        if self.peek() == "?":
            self.place += 1
            self.lazy = True
            return "?"
        return ""

    def _escape(self) -> tuple[str, bool, int | None]:
        character = self.take()
        if character == "":
            raise invalid("invalid escape \\ sequence")
        if character in "dswDSW":
            negated = "^" if character.isupper() else ""
            newline = "\\n" if negated and self.newlines else ""
            if character in "wW":
                self.words = True
                return f"[{negated}{_WORD}{newline}]", True, 1
            return f"[{negated}{_SHORT[character.lower()]}{newline}]", True, 1
        if character in _CONSTRAINTS:
            self.words |= character not in "AZ"
            self.anchored_inside = True
            return _CONSTRAINTS[character], False, 0
        if character in "123456789":
            digits = character
            while self.peek().isdigit() and int(digits + self.peek()) <= self.groups:
                digits += self.take()
            if int(digits) > self.groups:
                raise invalid("invalid backreference number")
            return f"(?:\\{digits})", True, None
        return self.literal(self._escaped_character(character)), True, 1

    def _escaped_character(self, character: str) -> str:
        if character in _CHARACTERS:
            return _CHARACTERS[character]
        lengths = {"u": 4, "U": 8}
        if character in lengths or character == "x":
            found = re.compile(r"[0-9a-fA-F]+").match(self.text, self.place)
            digits = "" if found is None else found.group()[: lengths.get(character, len(found.group()))]
            if len(digits) < lengths.get(character, 1):
                raise invalid("invalid escape \\ sequence")
            self.place += len(digits)
            return chr(int(digits, 16))
        if character.isalnum():
            raise invalid("invalid escape \\ sequence")
        return character

    def _bracket(self) -> str:
        negated = self.peek() == "^"
        self.place += negated
        parts: list[str] = []
        letters: list[str] = []
        first = True
        while first or self.peek() != "]":
            if self.peek() == "":
                raise invalid("brackets [] not balanced")
            first = False
            item = self._bracket_item()
            (letters if item in _LETTERS.values() else parts).append(item)
        self.place += 1
        inside = "".join(parts)
        newline = "\\n" if negated and self.newlines else ""
        self.words |= bool(letters)
        if not letters:
            return f"[{'^' if negated else ''}{inside}{newline}]"
        if negated:
            rest = f"[^{inside}{newline}]" if inside or newline else _ANY
            return f"(?:{''.join(f'(?!{part})' for part in letters)}{rest})"
        return f"(?:{'|'.join([*letters, *([f'[{inside}]'] if inside else [])])})"

    def _bracket_item(self) -> str:
        for opening in ("[:", "[=", "[."):
            if self.text.startswith(opening, self.place):
                return self._named_class(opening)
        start = self.place
        low, single = self._bracket_character()
        if not single or self.peek() != "-" or self.text[self.place + 1 : self.place + 2] in ("]", ""):
            return self._cases(low) if single else low
        self.place += 1
        if self.peek() == "[" and self.text[self.place + 1 : self.place + 2] in (":", "=", "."):
            raise invalid("invalid character range")
        high, single = self._bracket_character()
        try:
            regex.compile(f"[{low}-{high}]")
        except regex.error:
            raise invalid("invalid character range") from None
        if not single:
            raise invalid("invalid character range")
        return self._range(low, high, self.text[start : self.place])

    def _cases(self, escaped: str) -> str:
        """A character of a bracket expression, in both cases if these are the same."""
        character = escaped[-1]
        cases = {character, lower_letter(character), upper_letter(character)}
        return escaped if not self.fold or len(cases) == 1 else "".join(sorted(cases))

    def _range(self, low: str, high: str, shown: str) -> str:
        if not self.fold:
            return f"{low}-{high}"
        first, last = ord(low[-1]), ord(high[-1])
        if last > 127:
            raise not_supported(f'the range "{shown}" without regard to case')
        letters = [chr(code) for code in range(first, last + 1) if chr(code).isalpha()]
        return f"{low}-{high}{''.join(letters).swapcase()}"

    def _named_class(self, opening: str) -> str:
        if opening != "[:":
            raise not_supported("collating elements in regular expressions")
        end = self.text.find(":]", self.place)
        name = self.text[self.place + 2 : end] if end > 0 else ""
        if name in ("<", ">"):
            raise not_supported("[[:<:]] in regular expressions", hint="Use \\m and \\M.")
        if name not in _CLASSES and name not in _LETTERS:
            raise invalid("invalid character class")
        self.place = end + 2
        if name in _LETTERS:
            return _LETTERS[name]
        self.ascii_only |= name not in _EVERYWHERE
        return "a-zA-Z" if self.fold and name in ("upper", "lower") else _CLASSES[name]

    def _bracket_character(self) -> tuple[str, bool]:
        character = self.take()
        if character != "\\":
            return re.escape(character), True
        character = self.take()
        if character == "w":
            return _LETTERS["word"], False
        if character and character in "ds":
            return _SHORT[character], False
        if character in ("D", "S", "W") or character == "":
            raise invalid("invalid escape \\ sequence")
        return re.escape(self._escaped_character(character)), True


@lru_cache(maxsize=512)
def compiled(pattern: str, flags: str = "") -> Pattern:
    """A pattern with its flags, translated."""
    embedded = re.match(r"\(\?([a-z]+)\)", pattern)
    if embedded is not None:
        pattern, flags = pattern[embedded.end() :], flags + embedded.group(1)
    options = _options(flags)
    if options["quote"]:
        plain = _Reader("", False, False, options["fold"])
        return Pattern(pattern, regex.compile("".join(map(plain.literal, pattern))), None, False, True)
    if pattern.startswith("***"):
        raise not_supported("directors in regular expressions")
    reader = _Reader(pattern, options["newlines"], options["expanded"], options["fold"])
    text, _ = reader.translate()
    if reader.place < len(pattern):
        raise invalid("parentheses () not balanced")
    try:
        found = regex.compile(text)
    except (regex.error, OverflowError) as error:
        raise not_supported(f'the regular expression "{pattern}"') from error
    competing = reader.branched or reader.variable > 1
    return Pattern(
        pattern,
        found,
        _doubt(reader, pattern),
        competing and not _ends(reader, pattern),
        reader.variable <= 1 and not reader.group_repeated,
        reader.words,
        reader.ascii_only,
    )


def _doubt(reader: _Reader, pattern: str) -> str | None:
    if reader.lazy:
        return "non-greedy quantifiers where the matched text is used"
    if reader.branched and (reader.groups or reader.variable):
        return "alternatives together with groups or quantifiers where the matched text is used"
    if reader.repeated:
        return "a repeated group of varying length where the matched text is used"
    anchored = reader.anchored_inside or (reader.dollars > 0 and not _ends(reader, pattern))
    if (reader.branched or reader.variable > 1) and anchored:
        return "lookaround or anchors together with several quantifiers where the matched text is used"
    return None


def _ends(reader: _Reader, pattern: str) -> bool:
    """Whether every match must reach the end of the text, so that none is longer than another."""
    last = re.search(r"(?<!\\)(?:\\\\)*\$$", pattern) is not None
    return last and reader.dollars == 1 and not reader.newlines and re.search(r"(?<!\\)\|", pattern) is None


def _options(flags: str) -> dict[str, bool]:
    options = {"fold": False, "newlines": False, "expanded": False, "quote": False}
    for flag in flags:
        match flag:
            case "i":
                options["fold"] = True
            case "c":
                options["fold"] = False
            case "n" | "m":
                options["newlines"] = True
            case "s":
                options["newlines"] = False
            case "x":
                options["expanded"] = True
            case "t":
                options["expanded"] = False
            case "q":
                options["quote"] = True
            case "b" | "e" | "p" | "w":
                raise not_supported(f'the regular expression option "{flag}"')
            case _:
                raise UserError(f'invalid regular expression option: "{flag}"', "22023")
    return options

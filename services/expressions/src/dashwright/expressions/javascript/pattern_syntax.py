"""Translation of regular expressions from JavaScript's notation to that of the library ``regex``.

The notation is that of ECMAScript without the flags ``u`` and ``v``, with its Annex B: an escape without a meaning is the character
itself, and a brace outside a quantifier is a brace. Modifiers such as ``(?i)``, which only ``regex`` has, remain.
"""

from typing import Final

import regex

_ESCAPE: Final = r"\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|c[A-Za-z]|k<[^>]*>|[0-9]+|.)"
_TOKEN: Final = regex.compile(
    rf"(?P<escape>{_ESCAPE})"
    r"|(?P<set>\[(?:\\.|[^\]\\])*\])"
    r"|(?P<group>\((?!\?)|\(\?<(?![=!]))"
    r"|(?P<quantifier>\{[0-9]+(?:,[0-9]*)?\})"
    r"|(?P<symbol>[$^.{}\]])",
    regex.DOTALL,
)
_OCTAL_DIGITS: Final = "[0-3][0-7]{0,2}|[4-7][0-7]?"
_OCTAL: Final = regex.compile(_OCTAL_DIGITS)
_SET_TOKEN: Final = regex.compile(rf"\\(?:u[0-9A-Fa-f]{{4}}|x[0-9A-Fa-f]{{2}}|c[A-Za-z0-9_]|{_OCTAL_DIGITS}|.)|.", regex.DOTALL)
_LINE_ENDS: Final = r"\n\r\u2028\u2029"
#: The members of the sets that a letter names. Those of ``regex`` also have letters, digits and spaces that JavaScript's lack.
_NAMED_SETS: Final = {
    "d": "0-9",
    "D": r"\x00-/:-\U0010ffff",
    "w": "0-9A-Z_a-z",
    # Without U+017F and U+212A, which ``regex`` equates with the letters s and k if case is ignored.
    "W": r"\x00-/:-@\[-\^`{-\u017e\u0180-\u2129\u212b-\U0010ffff",
    "s": r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
    "S": (
        r"\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e"
        r"\u2030-\u205e\u2060-\u2fff\u3001-\ufefe\uff00-\U0010ffff"
    ),
}
_WORD: Final = f"[{_NAMED_SETS['w']}]"
_ASSERTIONS: Final = {
    "b": f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    "B": f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
}
_CONTROLS: Final = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
#: A hyphen and the last character.
_RANGE_MEMBERS: Final = 2


def translate(source: str, flags: str = "") -> str:
    """Return a pattern of ``regex`` that matches the same text as JavaScript's pattern with these flags.

    The flags ``m`` and ``s`` are part of the returned pattern, which is compiled without them. An invalid source returns a pattern
    that is invalid, too.
    """
    tokens = list(_TOKEN.finditer(source))
    groups = [token[0] for token in tokens if token["group"]]
    translation = _Translation(len(groups), has_names=any(group != "(" for group in groups), flags=flags)
    return _TOKEN.sub(translation.translate, source)


class _Translation:
    """The translation of the tokens of one pattern."""

    def __init__(self, group_count: int, *, has_names: bool, flags: str) -> None:
        self._group_count = group_count
        self._has_names = has_names
        self._symbols = {
            "$": rf"(?:(?=[{_LINE_ENDS}])|\Z)" if "m" in flags else r"\Z",
            "^": rf"(?:(?<=[{_LINE_ENDS}])|\A)" if "m" in flags else r"\A",
            ".": "(?s:.)" if "s" in flags else f"[^{_LINE_ENDS}]",
        }

    def translate(self, token: "regex.Match[str]") -> str:
        """Return the translation of a token."""
        text = token[0]
        if token["escape"]:
            return self._escape(text)
        if token["set"]:
            return _character_set(text)
        if token["symbol"]:
            return self._symbols.get(text) or regex.escape(text)
        return text

    def _escape(self, text: str) -> str:
        kind = text[1]
        if kind in _NAMED_SETS:
            return f"[{_NAMED_SETS[kind]}]"
        if kind in _ASSERTIONS:
            return _ASSERTIONS[kind]
        # A group that did not match is empty in JavaScript; in ``regex``, a reference to it fails.
        if kind == "k" and self._has_names and len(text) > 2:
            name = text[3:-1]
            return f"(?({name})(?P={name})|)"
        if kind in "123456789" and int(text[1:]) <= self._group_count:
            return rf"(?({text[1:]})\g<{text[1:]}>|)"
        return regex.escape(_characters(text), special_only=False)


def _characters(escape: str) -> str:
    """Return the characters of an escape that is neither a set of characters nor a reference."""
    kind, digits = escape[1], escape[2:]
    if kind in "ux" and digits:
        return chr(int(digits, 16))
    if kind == "c" and digits:
        return chr(ord(digits) % 32)
    if kind == "c":
        # Without a letter after it, the escape is a backslash and a c.
        return escape
    if octal := _OCTAL.match(escape, 1):
        return chr(int(octal[0], 8)) + escape[octal.end() :]
    return _CONTROLS.get(kind, kind) + digits


def _character_set(text: str) -> str:
    """Return the translation of a set such as ``[^a-z]``."""
    negation = "^" if text.startswith("[^") else ""
    members = [token[0] for token in _SET_TOKEN.finditer(text, 1 + len(negation), len(text) - 1)]
    if not members:
        return "(?s:.)" if negation else "(?!)"
    parts = []
    while members:
        first, *following = members
        parts.append(_set_member(first))
        if len(following) >= _RANGE_MEMBERS and following[0] == "-":
            # Next to a set such as \w, the hyphen is a character.
            parts += [r"\-" if _is_named_set(first) or _is_named_set(following[1]) else "-", _set_member(following[1])]
            following = following[2:]
        members = following
    return f"[{negation}{''.join(parts)}]"


def _is_named_set(member: str) -> bool:
    return member[0] == "\\" and member[1] in _NAMED_SETS


def _set_member(member: str) -> str:
    """Return the translation of a character, an escape or a named set within a set."""
    if _is_named_set(member):
        return _NAMED_SETS[member[1]]
    if member == r"\b":
        return r"\x08"
    return regex.escape(_characters(member) if len(member) > 1 else member, special_only=False)

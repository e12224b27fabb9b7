"""The text of a math expression: its words, its grammar, and how a part of it prints."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from tests.reference_engine.functions import CONSTANTS, OF_ONE
from tests.reference_engine.values import Refused

PRECEDENCE: Final = [["||"], ["&&"], ["==", "!=", ">", ">=", "<", "<="], ["+", "-"], ["*", "/", "%"], ["**"]]
"""Binary operators, those that bind loosest first. All of them are left-associative; the signs bind tighter than every one."""

_SYMBOLS: Final = ["&&", "||", "==", "!=", ">=", "<=", "**", *"><+-*/%!(),"]
"""Symbols, the longest first, so that a symbol is not read as a shorter one with the same start."""

_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Literal:
    value: float


@dataclass(frozen=True)
class Reference:
    ref_id: str


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple["Tree", ...]


@dataclass(frozen=True)
class Sign:
    symbol: str
    operand: "Tree"


@dataclass(frozen=True)
class Binary:
    symbol: str
    left: "Tree"
    right: "Tree"


Tree = Literal | Reference | Call | Sign | Binary


def _refuse(text: str) -> Refused:
    return Refused("parseError", text)


@dataclass(frozen=True)
class _Word:
    kind: str
    text: str


_END: Final = _Word("end", "")


def _words(text: str) -> Iterator[_Word]:
    """Return the words; white space is optional between all of them."""
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        word, length = _word_at(text, position)
        yield word
        position += length


def _word_at(text: str, position: int) -> tuple[_Word, int]:
    if text[position] == "$":
        return _reference_at(text, position)
    if text[position].isdigit() or text[position] == ".":
        number = _NUMBER.match(text, position)
        if not number or text[number.end() : number.end() + 1].isalnum():
            raise _refuse("illegal number syntax")
        return _Word("number", number[0]), len(number[0])
    if name := re.compile(r"[^\W\d]+").match(text, position):
        return _Word("name", name[0]), len(name[0])
    for symbol in _SYMBOLS:
        if text.startswith(symbol, position):
            return _Word("symbol", symbol), len(symbol)
    raise _refuse(f"invalid character: {text[position]}")


def _reference_at(text: str, position: int) -> tuple[_Word, int]:
    """Read ``$`` with letters, digits and ``_`` of any script, or ``${…}`` with any text except braces. Blanks count."""
    if text.startswith("${", position):
        inside = re.compile(r"[^{}]*").match(text, position + 2)
        assert inside
        if text[inside.end() : inside.end() + 1] != "}":
            raise _refuse("unterminated variable missing closing }")
        if not inside[0].strip():
            raise _refuse("incomplete variable")
        return _Word("reference", inside[0]), len(inside[0]) + 3
    name = re.compile(r"\w+").match(text, position + 1)
    if not name:
        raise _refuse("incomplete variable")
    return _Word("reference", name[0]), len(name[0]) + 1


def number_of(text: str) -> float:
    """Return the number of a text: hexadecimal after ``0x``, octal after 0 if all further digits are 0 to 7, and else decimal."""
    if text[:2] in {"0x", "0X"}:
        return float(int(text, 16))
    if re.fullmatch("0[0-7]+", text):
        return float(int(text, 8))
    number = float(text)
    if math.isinf(number):
        raise _refuse("out of range")
    return number


class _Reader:
    """A reader of a whole text to its tree, which checks calls."""

    def __init__(self, text: str) -> None:
        self._words = [*_words(text), _END]
        self._at = 0

    def whole(self) -> Tree:
        tree = self._level(0)
        if self._next is not _END:
            raise _refuse(f"unexpected {self._next.text} in root input")
        return tree

    @property
    def _next(self) -> _Word:
        return self._words[self._at]

    def _accept(self, *symbols: str) -> str | None:
        if self._next.kind != "symbol" or self._next.text not in symbols:
            return None
        self._at += 1
        return self._words[self._at - 1].text

    def _level(self, level: int) -> Tree:
        if level == len(PRECEDENCE):
            return self._factor()
        tree = self._level(level + 1)
        while symbol := self._accept(*PRECEDENCE[level]):
            tree = Binary(symbol, tree, self._level(level + 1))
        return tree

    def _factor(self) -> Tree:
        if sign := self._accept("!", "-"):
            return Sign(sign, self._factor())
        if self._accept("("):
            tree = self._level(0)
            if not self._accept(")"):
                raise _refuse("a parenthesis is not closed")
            return tree
        word = self._next
        readers: dict[str, Callable[[str], Tree]] = {
            "number": lambda text: Literal(number_of(text)),
            "reference": Reference,
            "name": self._call,
        }
        if word.kind not in readers:
            raise _refuse(f"unexpected {word.text} in input")
        self._at += 1
        return readers[word.kind](word.text)

    def _call(self, name: str) -> Tree:
        """Return a call of a known function with the right number of arguments; commas between them are optional."""
        if name not in OF_ONE and name not in CONSTANTS:
            raise _refuse(f"non existent function {name}")
        if not self._accept("("):
            raise _refuse("unexpected word in func")
        arguments: list[Tree] = []
        while not self._accept(")"):
            arguments.append(self._level(0))
            if self._accept(",") and self._next.text == ")":
                raise _refuse("an argument is missing")
        if len(arguments) != (name in OF_ONE):
            raise _refuse(f"too few or too many arguments for {name}")
        return Call(name, tuple(arguments))


def parsed(text: str) -> Tree:
    return _Reader(text).whole()


def references(tree: Tree) -> list[str]:
    """Return the refIds that a tree names, in the order of their first mention."""
    match tree:
        case Reference(ref_id=ref_id):
            ref_ids = [ref_id]
        case Call(arguments=arguments):
            ref_ids = [ref_id for argument in arguments for ref_id in references(argument)]
        case Sign(operand=operand):
            ref_ids = references(operand)
        case Binary(left=left, right=right):
            ref_ids = references(left) + references(right)
        case Literal():
            ref_ids = []
    return list(dict.fromkeys(ref_ids))


def printed(tree: Tree) -> str:
    """Return a tree as text, with only the parentheses that are necessary to read the same tree. Numbers are decimal."""
    match tree:
        case Literal(value=value):
            return repr(value).removesuffix(".0")
        case Reference(ref_id=ref_id):
            return f"${ref_id}" if re.fullmatch(r"\w+", ref_id) else f"${{{ref_id}}}"
        case Call(name=name, arguments=arguments):
            return f"{name}({', '.join(map(printed, arguments))})"
        case Sign(symbol=symbol, operand=operand):
            return symbol + (f"({printed(operand)})" if isinstance(operand, Binary) else printed(operand))
        case Binary(symbol=symbol, left=left, right=right):
            sides = [
                f"({printed(side)})" if isinstance(side, Binary) and needed > _tightness(side) else printed(side)
                for side, needed in ((left, _tightness(tree)), (right, _tightness(tree) + 1))
            ]
            return f"{sides[0]} {symbol} {sides[1]}"


def _tightness(tree: Binary) -> int:
    return next(level for level, symbols in enumerate(PRECEDENCE) if tree.symbol in symbols)

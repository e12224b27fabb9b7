"""The text of a math expression: its words, its grammar, and the text of a part of its tree."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from tests.reference_engine.functions import CONSTANTS, FUNCTIONS
from tests.reference_engine.values import Refused

PRECEDENCE: Final = [["||"], ["&&"], ["==", "!=", ">", ">=", "<", "<="], ["+", "-"], ["*", "/", "%"], ["**"]]
"""Binary operators from the lowest precedence to the highest. All are left-associative. The signs ``-`` and ``!`` precede all of them."""

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


def _parse_error(text: str) -> Refused:
    return Refused("parseError", text)


@dataclass(frozen=True)
class _Word:
    """A word of an expression."""

    #: ``number``, ``name``, ``reference``, ``symbol``, or ``end`` after the last word.
    kind: str
    text: str


_END: Final = _Word("end", "")


def _words(text: str) -> Iterator[_Word]:
    """Yield the words. White space between words is optional."""
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        word, length = _word_at(text, position)
        yield word
        position += length


def _word_at(text: str, position: int) -> tuple[_Word, int]:
    """Return the word at a position, and its length in the text."""
    if text[position] == "$":
        return _reference_at(text, position)
    if text[position].isdigit() or text[position] == ".":
        number = _NUMBER.match(text, position)
        if not number or text[number.end() : number.end() + 1].isalnum():
            raise _parse_error("illegal number syntax")
        return _Word("number", number[0]), len(number[0])
    if name := re.compile(r"[^\W\d]+").match(text, position):
        return _Word("name", name[0]), len(name[0])
    for symbol in _SYMBOLS:
        if text.startswith(symbol, position):
            return _Word("symbol", symbol), len(symbol)
    raise _parse_error(f"invalid character: {text[position]}")


def _reference_at(text: str, position: int) -> tuple[_Word, int]:
    """Return a reference and its length in the text.

    It is ``$`` with letters, digits and ``_`` of any script, or ``${…}`` with any text except braces, where spaces count.
    """
    if text.startswith("${", position):
        inside = re.compile(r"[^{}]*").match(text, position + 2)
        assert inside
        if text[inside.end() : inside.end() + 1] != "}":
            raise _parse_error("unterminated variable missing closing }")
        if not inside[0].strip():
            raise _parse_error("incomplete variable")
        return _Word("reference", inside[0]), len(inside[0]) + 3
    name = re.compile(r"\w+").match(text, position + 1)
    if not name:
        raise _parse_error("incomplete variable")
    return _Word("reference", name[0]), len(name[0]) + 1


def parse_number(text: str) -> float:
    """Return the number of a text: hexadecimal after ``0x``, octal after 0 if all further digits are 0 to 7, else decimal."""
    if text[:2] in {"0x", "0X"}:
        return float(int(text, 16))
    if re.fullmatch("0[0-7]+", text):
        return float(int(text, 8))
    number = float(text)
    if math.isinf(number):
        raise _parse_error("out of range")
    return number


class _Parser:
    """A parser of a whole text to its tree, by recursive descent. The functions of calls and their arguments are checked."""

    def __init__(self, text: str) -> None:
        self._words = [*_words(text), _END]
        self._position = 0

    def read(self) -> Tree:
        """Return the tree of the text. Raises Refused if the text is invalid."""
        tree = self._operation(0)
        if self._next is not _END:
            raise _parse_error(f"unexpected {self._next.text} in root input")
        return tree

    @property
    def _next(self) -> _Word:
        return self._words[self._position]

    def _accept(self, *symbols: str) -> str | None:
        """Skip the next word if it is one of the symbols, and return it, else None."""
        if self._next.kind != "symbol" or self._next.text not in symbols:
            return None
        self._position += 1
        return self._words[self._position - 1].text

    def _operation(self, level: int) -> Tree:
        """Return an operation whose operator has at least the precedence ``level``, or an operand."""
        if level == len(PRECEDENCE):
            return self._operand()
        tree = self._operation(level + 1)
        while symbol := self._accept(*PRECEDENCE[level]):
            tree = Binary(symbol, tree, self._operation(level + 1))
        return tree

    def _operand(self) -> Tree:
        """Return an operand: a number, a reference, a call, or an operation in parentheses, after any number of signs."""
        if sign := self._accept("!", "-"):
            return Sign(sign, self._operand())
        if self._accept("("):
            tree = self._operation(0)
            if not self._accept(")"):
                raise _parse_error("a parenthesis is not closed")
            return tree
        word = self._next
        readers_by_kind: dict[str, Callable[[str], Tree]] = {
            "number": lambda text: Literal(parse_number(text)),
            "reference": Reference,
            "name": self._call,
        }
        if word.kind not in readers_by_kind:
            raise _parse_error(f"unexpected {word.text} in input")
        self._position += 1
        return readers_by_kind[word.kind](word.text)

    def _call(self, name: str) -> Tree:
        """Return a call of a known function with the right number of arguments. Commas between arguments are optional."""
        if name not in FUNCTIONS and name not in CONSTANTS:
            raise _parse_error(f"non existent function {name}")
        if not self._accept("("):
            raise _parse_error("unexpected word in func")
        arguments: list[Tree] = []
        while not self._accept(")"):
            arguments.append(self._operation(0))
            if self._accept(",") and self._next.text == ")":
                raise _parse_error("an argument is missing")
        expected_count = 1 if name in FUNCTIONS else 0
        if len(arguments) != expected_count:
            raise _parse_error(f"too few or too many arguments for {name}")
        return Call(name, tuple(arguments))


def parse_math(text: str) -> Tree:
    """Return the tree of an expression. Raises Refused if the expression is invalid."""
    return _Parser(text).read()


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


def tree_text(tree: Tree) -> str:
    """Return a tree as text, with only the parentheses that are necessary to read the same tree. Numbers are decimal."""
    match tree:
        case Literal(value=value):
            return repr(value).removesuffix(".0")
        case Reference(ref_id=ref_id):
            return f"${ref_id}" if re.fullmatch(r"\w+", ref_id) else f"${{{ref_id}}}"
        case Call(name=name, arguments=arguments):
            return f"{name}({', '.join(map(tree_text, arguments))})"
        case Sign(symbol=symbol, operand=operand):
            return symbol + (f"({tree_text(operand)})" if isinstance(operand, Binary) else tree_text(operand))
        case Binary(symbol=symbol, left=left, right=right):
            # Operators are left-associative, so only the left side may have the same precedence without parentheses.
            sides = [
                f"({tree_text(side)})" if isinstance(side, Binary) and required > _precedence(side) else tree_text(side)
                for side, required in ((left, _precedence(tree)), (right, _precedence(tree) + 1))
            ]
            return f"{sides[0]} {symbol} {sides[1]}"


def _precedence(tree: Binary) -> int:
    """Return the position of the operator in ``PRECEDENCE``."""
    return next(level for level, symbols in enumerate(PRECEDENCE) if tree.symbol in symbols)

"""Text to tokens. Symbols are read as the longest known one, so ``$A+-1`` and ``!!$A`` need no spaces."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from dashwright.common.errors import BadRequest

_CONTEXT = 40


def fault(message: str, text: str, position: int) -> BadRequest:
    """Return the error of an expression that cannot be parsed.

    Its ``details`` hold ``position`` (from 1) and ``caret``: the surrounding text above a line with a caret under the
    place.
    """
    start = max(0, position - _CONTEXT)
    line = "".join(" " if char.isspace() else char for char in text[start : position + _CONTEXT])
    caret = f"{line}\n{' ' * (position - start)}^"
    return BadRequest(
        f"expr: {message} (at character {position + 1})",
        message_id="sse.parseError",
        details={"position": str(position + 1), "caret": caret},
    )


_SHOWN = 10


class TokenType(StrEnum):
    """The type of a token."""

    OPERATOR = "op"
    NUMBER = "number"
    VARIABLE = "var"
    STRING = "string"
    FUNCTION = "func"
    OPEN = "("
    CLOSE = ")"
    COMMA = ","
    END = "EOF"


@dataclass(frozen=True, slots=True)
class Token:
    """One token of an expression."""

    kind: TokenType
    text: str  #: As written.
    position: int  #: Characters before it.

    def __str__(self) -> str:
        """Return the token as error messages show it: quoted, cut after ten characters."""
        if self.kind is TokenType.END:
            return "EOF"
        return f'"{self.text[:_SHOWN]}"' + ("..." if len(self.text) > _SHOWN else "")


_SPACE = re.compile(r"\s*")
_SYMBOL = re.compile(r"\*\*|==|!=|>=|<=|&&|\|\||[!<>+\-*/%]")
_SYMBOL_RUN = re.compile(r"[!<>=&|+\-*/%]+")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NUMBER_RUN = re.compile(r"[\w.]+")
_WORD = re.compile(r"[^\W\d]\w*")
_VARIABLE = re.compile(r"\$\w+")
_BRACED = re.compile(r"\$\{([^{}]*)\}")
#: What to write instead of a character.
_ADVICE = {
    "=": "; write == to compare",
    "&": "; write && for and",
    "|": "; write || for or",
    "^": "; write ** for powers",
    "?": "; there is no choice, multiply by a comparison instead, such as ($A > 1) * 2",
    "'": "; a query is named without quotes, such as $A or ${my query}",
    "#": "; a query is named such as $A or ${my query}",
    "[": "; a query is named such as $A or ${my query}",
    "{": "; a query is named such as $A or ${my query}",
}

_PUNCTUATION = {"(": TokenType.OPEN, ")": TokenType.CLOSE, ",": TokenType.COMMA}


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of ``text``, the last one of type END. Raises BadRequest at the first invalid character."""
    position = _skip(text, 0)
    while position < len(text):
        token = _token(text, position)
        yield token
        position = _skip(text, position + len(token.text))
    yield Token(TokenType.END, "", len(text))


def _skip(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _token(text: str, position: int) -> Token:
    char = text[position]
    if char in _PUNCTUATION:
        return Token(_PUNCTUATION[char], char, position)
    if char == "$":
        return _variable(text, position)
    if char == '"':
        return _string(text, position)
    if char.isascii() and (char.isdigit() or char == "."):
        return _number(text, position)
    if word := _WORD.match(text, position):
        return Token(TokenType.FUNCTION, word.group(), position)
    if symbol := _SYMBOL.match(text, position):
        return Token(TokenType.OPERATOR, symbol.group(), position)
    if run := _SYMBOL_RUN.match(text, position):
        raise fault(f"unexpected {run.group()} in input{_ADVICE.get(run.group()[0], '; it is not an operator')}", text, position)
    raise fault(f"invalid character: {char}{_ADVICE.get(char, '')}", text, position)


def _variable(text: str, position: int) -> Token:
    if text.startswith("${", position):
        closed = _BRACED.match(text, position)
        if closed is None:
            end = text.find("}", position)
            if end < 0:
                raise fault("unterminated variable missing closing }", text, position)
            raise fault("unsupported variable character", text, text.index("{", position + 2))
        if not closed.group(1).strip():
            raise fault("incomplete variable", text, position)
        return _checked(closed.group(), text, position)
    named = _VARIABLE.match(text, position)
    if named is None:
        raise fault("incomplete variable; write $A or ${my query}", text, position)
    return Token(TokenType.VARIABLE, named.group(), position)


def _checked(variable: str, text: str, position: int) -> Token:
    for offset, char in enumerate(variable):
        if not (char.isprintable() or char.isspace()):
            raise fault("unsupported variable character", text, position + offset)
    return Token(TokenType.VARIABLE, variable, position)


def _string(text: str, position: int) -> Token:
    end = text.find('"', position + 1)
    if end < 0:
        raise fault("unterminated string", text, position)
    return Token(TokenType.STRING, text[position : end + 1], position)


def _number(text: str, position: int) -> Token:
    number = _NUMBER.match(text, position)
    end = number.end() if number else position
    rest = _NUMBER_RUN.match(text, end)
    if number is None or rest is not None:
        wrong = text[position : rest.end() if rest else end]
        raise fault(f'illegal number syntax: "{wrong}"', text, position)
    return Token(TokenType.NUMBER, number.group(), position)

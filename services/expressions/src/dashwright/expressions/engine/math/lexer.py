"""Lexer of math expressions. ``+-`` and ``!!`` are each read as two operators, so ``$A+-1`` and ``!!$A`` need no spaces."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from dashwright.common.errors import BadRequest

#: The maximum number of characters that an error quotes before its position, and after it.
_CONTEXT_CHARACTERS = 40


def parse_error(message: str, source: str, position: int) -> BadRequest:
    """Return the error of an expression that cannot be parsed.

    Its ``details`` have ``position`` (from 1) and ``caret``: the source around the position, above a line with a caret.
    """
    start = max(0, position - _CONTEXT_CHARACTERS)
    line = "".join(" " if char.isspace() else char for char in source[start : position + _CONTEXT_CHARACTERS])
    caret = f"{line}\n{' ' * (position - start)}^"
    return BadRequest(
        f"expr: {message} (at character {position + 1})",
        message_id="sse.parseError",
        details={"position": str(position + 1), "caret": caret},
    )


#: The number of characters after which a displayed token is cut.
_MAX_DISPLAYED_LENGTH = 10


class TokenType(StrEnum):
    """The type of a token."""

    OPERATOR = "op"
    NUMBER = "number"
    VARIABLE = "var"
    STRING = "string"
    FUNCTION = "func"
    OPENING_PARENTHESIS = "("
    CLOSING_PARENTHESIS = ")"
    COMMA = ","
    END = "EOF"


@dataclass(frozen=True, slots=True)
class Token:
    """One token of an expression."""

    type: TokenType
    text: str  #: The characters of the token.
    position: int  #: The number of characters before the token.

    def __str__(self) -> str:
        """Return the token as error messages display it: quoted, and cut after ten characters."""
        if self.type is TokenType.END:
            return "EOF"
        return f'"{self.text[:_MAX_DISPLAYED_LENGTH]}"' + ("..." if len(self.text) > _MAX_DISPLAYED_LENGTH else "")


_SPACE = re.compile(r"\s*")
_SYMBOL = re.compile(r"\*\*|==|!=|>=|<=|&&|\|\||[!<>+\-*/%]")
#: Characters that an error quotes if they do not form an operator.
_SYMBOL_RUN = re.compile(r"[!<>=&|+\-*/%]+")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: Characters that must not follow a number immediately.
_NUMBER_SURPLUS = re.compile(r"[\w.]+")
_WORD = re.compile(r"[^\W\d]\w*")
_VARIABLE = re.compile(r"\$\w+")
_BRACED_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
#: Advice by the invalid character, or by the first character of an unknown operator.
_ADVICE = {
    "=": "; write == to compare",
    "&": "; write && for and",
    "|": "; write || for or",
    "^": "; write ** for powers",
    "?": "; it is not a conditional operator here: multiply by a comparison instead, such as ($A > 1) * 2",
    "'": "; a query is named without quotes, such as $A or ${my query}",
    "#": "; a query is named such as $A or ${my query}",
    "[": "; a query is named such as $A or ${my query}",
    "{": "; a query is named such as $A or ${my query}",
}

_PUNCTUATION = {"(": TokenType.OPENING_PARENTHESIS, ")": TokenType.CLOSING_PARENTHESIS, ",": TokenType.COMMA}


def tokens(source: str) -> Iterator[Token]:
    """Yield the tokens of an expression, the last one of type END. Raises BadRequest at the first invalid character."""
    position = _skip_space(source, 0)
    while position < len(source):
        token = _token(source, position)
        yield token
        position = _skip_space(source, position + len(token.text))
    yield Token(TokenType.END, "", len(source))


def _skip_space(source: str, position: int) -> int:
    space = _SPACE.match(source, position)
    return space.end() if space else position


def _token(source: str, position: int) -> Token:
    """Return the token at the position of a character other than a space. Raises BadRequest if no token begins there."""
    char = source[position]
    if char in _PUNCTUATION:
        return Token(_PUNCTUATION[char], char, position)
    if char == "$":
        return _variable(source, position)
    if char == '"':
        return _string(source, position)
    if char.isascii() and (char.isdigit() or char == "."):
        return _number(source, position)
    if word := _WORD.match(source, position):
        return Token(TokenType.FUNCTION, word.group(), position)
    if symbol := _SYMBOL.match(source, position):
        return Token(TokenType.OPERATOR, symbol.group(), position)
    if run := _SYMBOL_RUN.match(source, position):
        raise parse_error(f"unexpected {run.group()} in input{_ADVICE.get(run.group()[0], '; it is not an operator')}", source, position)
    raise parse_error(f"invalid character: {char}{_ADVICE.get(char, '')}", source, position)


def _variable(source: str, position: int) -> Token:
    if source.startswith("${", position):
        return _braced_variable(source, position)
    variable = _VARIABLE.match(source, position)
    if variable is None:
        raise parse_error("incomplete variable; write $A or ${my query}", source, position)
    return Token(TokenType.VARIABLE, variable.group(), position)


def _braced_variable(source: str, position: int) -> Token:
    variable = _BRACED_VARIABLE.match(source, position)
    if variable is None:
        end = source.find("}", position)
        if end < 0:
            raise parse_error("unterminated variable missing closing }", source, position)
        # There is a closing brace, so the pattern failed at a second opening brace before it.
        raise parse_error("unsupported variable character", source, source.index("{", position + 2))
    if not variable.group(1).strip():
        raise parse_error("incomplete variable", source, position)
    for offset, char in enumerate(variable.group()):
        if not (char.isprintable() or char.isspace()):
            raise parse_error("unsupported variable character", source, position + offset)
    return Token(TokenType.VARIABLE, variable.group(), position)


def _string(source: str, position: int) -> Token:
    end = source.find('"', position + 1)
    if end < 0:
        raise parse_error("unterminated string", source, position)
    return Token(TokenType.STRING, source[position : end + 1], position)


def _number(source: str, position: int) -> Token:
    number = _NUMBER.match(source, position)
    # A lone dot begins no number; the surplus then begins at the dot.
    end = number.end() if number else position
    surplus = _NUMBER_SURPLUS.match(source, end)
    if number is None or surplus is not None:
        invalid = source[position : surplus.end() if surplus else end]
        raise parse_error(f'illegal number syntax: "{invalid}"', source, position)
    return Token(TokenType.NUMBER, number.group(), position)

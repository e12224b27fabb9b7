"""Tokens to a tree, fully checked: every parsed tree has known functions with the right arguments.

Precedence, lowest first: ``||``, ``&&``, comparisons, ``+ -``, ``* / %``, ``**``, unary ``!`` and ``-``. All operators
associate to the left.
"""

import math

from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.limits import EXPRESSION_DEPTH, EXPRESSION_LENGTH
from dashwright.expressions.engine.math.ast import Binary, Call, Node, Number, Unary, Variable
from dashwright.expressions.engine.math.functions import FUNCTIONS
from dashwright.expressions.engine.math.lexer import Token, TokenType, fault, tokens
from dashwright.expressions.engine.math.operators import BINARY, UNARY
from dashwright.expressions.engine.suggestion import suggestion

_VALUE = "a value belongs here, such as 1, $A or abs($A)"
_AFTER_A_VALUE = "an operator such as + or == belongs here, or the end"
_WORDS = {"and": "&&", "or": "||", "not": "!", "AND": "&&", "OR": "||", "NOT": "!"}
_OPERATORS = {word: f"write {symbol} instead" for word, symbol in _WORDS.items()} | {")": "it has no opening ("}
_FUNCTIONS = {"isnan": "is_nan", "isinf": "is_inf", "isnull": "is_null", "ln": "log", "infinity": "inf", "int": "floor"}

#: Tokens that are read between two checks of the deadline.
_STRETCH = 500


def parse(text: str, longest: int = EXPRESSION_LENGTH, deepest: int = EXPRESSION_DEPTH, deadline: Deadline | None = None) -> Node:
    """Return the tree of ``text``, of at most ``longest`` characters and ``deepest`` levels.

    Raises BadRequest with the position of the fault (see ``fault``), and DeadlineExceeded.
    """
    if len(text) > longest:
        message = f"the expression has {len(text)} characters, more than the {longest} allowed"
        raise fault(f"{message} (setting DASHWRIGHT_EXPRESSION_LENGTH); split it", text, longest)
    return _Parser(text, deepest, deadline or Deadline()).root()


class _Parser:
    def __init__(self, text: str, deepest: int, deadline: Deadline) -> None:
        self._text = text
        self._deepest = deepest
        self._deadline = deadline
        self._taken = 0
        self._tokens = tokens(text)
        self._next = next(self._tokens)
        self._depth = 0

    def root(self) -> Node:
        node = self._binary(0)
        if self._next.kind is not TokenType.END:
            raise self._unexpected("root input", _OPERATORS.get(self._next.text, _AFTER_A_VALUE))
        return node

    def _take(self) -> Token:
        if self._taken % _STRETCH == 0:
            self._deadline.check()
        self._taken += 1
        token = self._next
        self._next = next(self._tokens)
        return token

    def _unexpected(self, where: str, advice: str) -> Exception:
        return fault(f"unexpected {self._next} in {where}; {advice}", self._text, self._next.position)

    def _binary(self, lowest: int) -> Node:
        left = self._operand()
        while self._next.kind is TokenType.OPERATOR and (operator := BINARY.get(self._next.text)) and operator.precedence >= lowest:
            token = self._take()
            left = Binary(token.text, left, self._binary(operator.precedence + 1), token.position)
        return left

    def _operand(self) -> Node:
        self._depth += 1
        if self._depth > self._deepest:
            message = f"the expression nests deeper than {self._deepest} levels (setting DASHWRIGHT_EXPRESSION_DEPTH)"
            raise fault(f"{message}; simplify it", self._text, self._next.position)
        node = self._unary() if self._next.text in UNARY else self._primary()
        self._depth -= 1
        return node

    def _unary(self) -> Node:
        token = self._take()
        return Unary(token.text, self._operand(), token.position)

    def _primary(self) -> Node:
        match self._next.kind:
            case TokenType.NUMBER:
                token = self._take()
                return Number(self._number(token), token.position)
            case TokenType.VARIABLE:
                token = self._take()
                return Variable(token.text.removeprefix("$").removeprefix("{").removesuffix("}"), token.position)
            case TokenType.FUNCTION:
                return self._call()
            case TokenType.OPEN:
                self._take()
                node = self._binary(0)
                self._expect(TokenType.CLOSE, "input", "close the parenthesis with )")
                return node
        raise self._unexpected("input", _VALUE)

    def _expect(self, kind: TokenType, where: str, advice: str) -> None:
        if self._next.kind is not kind:
            raise self._unexpected(where, advice)
        self._take()

    def _number(self, token: Token) -> float:
        try:
            value = _value(token.text)
        except OverflowError:
            value = math.inf
        if math.isinf(value):
            raise fault(f"illegal number syntax: {token} is out of range; write inf() for infinity", self._text, token.position)
        return value

    def _call(self) -> Node:
        name = self._take()
        function = FUNCTIONS.get(name.text)
        if function is None:
            raise fault(f"non existent function {name.text}{self._meant(name)}", self._text, name.position)
        self._expect(TokenType.OPEN, "func", f"write {name.text}({'$A' if function.arity else ''})")
        arguments = self._arguments()
        if len(arguments) != function.arity:
            few_or_many = "not enough" if len(arguments) < function.arity else "too many"
            raise fault(f"parse: {few_or_many} arguments for {name.text}, it takes {function.arity}", self._text, name.position)
        return Call(name.text, arguments, name.position)

    def _meant(self, name: Token) -> str:
        """Return what to write instead of an unknown function; a word without arguments is probably a query."""
        if name.text in _WORDS:
            return f"; write {_WORDS[name.text]} instead"
        if self._next.kind is not TokenType.OPEN and name.text.lower() not in FUNCTIONS:
            return f"; did you mean ${name.text}? A query is named with a $"
        return f"{suggestion(name.text, FUNCTIONS, _FUNCTIONS)}; known are {', '.join(FUNCTIONS)}"

    def _arguments(self) -> tuple[Node, ...]:
        arguments: list[Node] = []
        while self._next.kind not in {TokenType.CLOSE, TokenType.END}:
            # A comma between arguments is optional: expressions saved for parsers without commas keep their meaning.
            if arguments and self._next.kind is TokenType.COMMA:
                self._take()
            arguments.append(self._argument(len(arguments)))
        self._expect(TokenType.CLOSE, "func", "close the parenthesis with )")
        return tuple(arguments)

    def _argument(self, index: int) -> Node:
        if self._next.kind is TokenType.STRING:
            message = f"parse: expected numberSet or seriesSet for argument {index}, got string"
            raise fault(message, self._text, self._next.position)
        return self._binary(0)


def _value(number: str) -> float:
    if number[:2] in {"0x", "0X"}:
        return float(int(number, 16))
    if len(number) > 1 and number[0] == "0" and set(number) <= set("01234567"):
        return float(int(number, 8))
    return float(number)

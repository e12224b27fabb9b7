"""Parser of math expressions. In every parsed tree, functions exist and have the right number of arguments.

Precedence, lowest first: ``||``, ``&&``, comparisons, ``+ -``, ``* / %``, ``**``, unary ``!`` and ``-``. All operators
associate to the left.
"""

import math

from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.limits import EXPRESSION_DEPTH, EXPRESSION_LENGTH
from dashwright.expressions.engine.math.ast import Binary, Call, Node, Number, Unary, Variable
from dashwright.expressions.engine.math.functions import FUNCTIONS
from dashwright.expressions.engine.math.lexer import Token, TokenType, parse_error, tokens
from dashwright.expressions.engine.math.operators import BINARY, UNARY, BinaryOperator
from dashwright.expressions.engine.suggestion import suggestion

_VALUE_EXPECTED = "a value belongs here, such as 1, $A or abs($A)"
_OPERATOR_EXPECTED = "an operator such as + or == belongs here, or the end"
#: Operators of other languages.
_OPERATOR_WORDS = {"and": "&&", "or": "||", "not": "!", "AND": "&&", "OR": "||", "NOT": "!"}
#: Advice about unexpected tokens, by their text.
_ADVICE = {word: f"write {symbol} instead" for word, symbol in _OPERATOR_WORDS.items()} | {")": "it has no opening ("}
_FUNCTION_SYNONYMS = {"isnan": "is_nan", "isinf": "is_inf", "isnull": "is_null", "ln": "log", "infinity": "inf", "int": "floor"}

#: The precedence of ``||``, from which all binary operators are parsed.
_LOWEST_PRECEDENCE = 0

#: Tokens between two checks of the deadline.
_TOKENS_PER_CHECK = 500


def parse(source: str, max_length: int = EXPRESSION_LENGTH, max_depth: int = EXPRESSION_DEPTH, deadline: Deadline | None = None) -> Node:
    """Return the syntax tree of an expression of at most ``max_length`` characters and ``max_depth`` levels.

    Raises BadRequest with the position of the fault (see ``parse_error``), and DeadlineExceeded.
    """
    if len(source) > max_length:
        message = f"the expression has {len(source)} characters, more than the {max_length} allowed"
        raise parse_error(f"{message} (setting DASHWRIGHT_EXPRESSION_LENGTH); split it", source, max_length)
    return _Parser(source, max_depth, deadline or Deadline()).parse()


class _Parser:
    """A recursive descent parser of one expression."""

    def __init__(self, source: str, max_depth: int, deadline: Deadline) -> None:
        self._source = source
        self._max_depth = max_depth
        self._deadline = deadline
        self._token_count = 0
        self._tokens = tokens(source)
        self._next = next(self._tokens)  # The first token that is not parsed yet.
        self._depth = 0

    def parse(self) -> Node:
        node = self._binary(_LOWEST_PRECEDENCE)
        if self._next.type is not TokenType.END:
            raise self._unexpected("root input", _ADVICE.get(self._next.text, _OPERATOR_EXPECTED))
        return node

    def _take(self) -> Token:
        """Return the next token, and advance to the one after it. Raises DeadlineExceeded."""
        if self._token_count % _TOKENS_PER_CHECK == 0:
            self._deadline.check()
        self._token_count += 1
        token = self._next
        self._next = next(self._tokens)
        return token

    def _unexpected(self, context: str, advice: str) -> Exception:
        return parse_error(f"unexpected {self._next} in {context}; {advice}", self._source, self._next.position)

    def _binary(self, min_precedence: int) -> Node:
        """Parse an operand and all following operators of at least this precedence (precedence climbing)."""
        left = self._operand()
        while (operator := self._next_operator()) and operator.precedence >= min_precedence:
            token = self._take()
            left = Binary(token.text, left, self._binary(operator.precedence + 1), token.position)
        return left

    def _next_operator(self) -> BinaryOperator | None:
        return BINARY.get(self._next.text) if self._next.type is TokenType.OPERATOR else None

    def _operand(self) -> Node:
        self._depth += 1
        if self._depth > self._max_depth:
            message = f"the expression nests deeper than {self._max_depth} levels (setting DASHWRIGHT_EXPRESSION_DEPTH)"
            raise parse_error(f"{message}; simplify it", self._source, self._next.position)
        node = self._unary() if self._next.text in UNARY else self._primary()
        self._depth -= 1
        return node

    def _unary(self) -> Node:
        token = self._take()
        return Unary(token.text, self._operand(), token.position)

    def _primary(self) -> Node:
        """Parse a number, a variable, a call or an expression in parentheses."""
        match self._next.type:
            case TokenType.NUMBER:
                token = self._take()
                return Number(self._number(token), token.position)
            case TokenType.VARIABLE:
                token = self._take()
                return Variable(token.text.removeprefix("$").removeprefix("{").removesuffix("}"), token.position)
            case TokenType.FUNCTION:
                return self._call()
            case TokenType.OPENING_PARENTHESIS:
                self._take()
                node = self._binary(_LOWEST_PRECEDENCE)
                self._expect(TokenType.CLOSING_PARENTHESIS, "input", "close the parenthesis with )")
                return node
        raise self._unexpected("input", _VALUE_EXPECTED)

    def _expect(self, token_type: TokenType, context: str, advice: str) -> None:
        """Take the next token. Raises BadRequest if it has another type."""
        if self._next.type is not token_type:
            raise self._unexpected(context, advice)
        self._take()

    def _number(self, token: Token) -> float:
        try:
            value = _parse_number(token.text)
        except OverflowError:
            value = math.inf
        if math.isinf(value):
            raise parse_error(f"illegal number syntax: {token} is out of range; write inf() for infinity", self._source, token.position)
        return value

    def _call(self) -> Node:
        name = self._take()
        function = FUNCTIONS.get(name.text)
        if function is None:
            raise parse_error(f"non existent function {name.text}{self._unknown_function_advice(name)}", self._source, name.position)
        self._expect(TokenType.OPENING_PARENTHESIS, "func", f"write {name.text}({'$A' if function.arity else ''})")
        arguments = self._arguments()
        if len(arguments) != function.arity:
            problem = "not enough" if len(arguments) < function.arity else "too many"
            raise parse_error(f"parse: {problem} arguments for {name.text}, it takes {function.arity}", self._source, name.position)
        return Call(name.text, arguments, name.position)

    def _unknown_function_advice(self, name: Token) -> str:
        """Return advice about an unknown function. A word without arguments is probably a query."""
        if name.text in _OPERATOR_WORDS:
            return f"; write {_OPERATOR_WORDS[name.text]} instead"
        if self._next.type is not TokenType.OPENING_PARENTHESIS and name.text.lower() not in FUNCTIONS:
            return f"; did you mean ${name.text}? A query is named with a $"
        return f"{suggestion(name.text, FUNCTIONS, _FUNCTION_SYNONYMS)}; known are {', '.join(FUNCTIONS)}"

    def _arguments(self) -> tuple[Node, ...]:
        arguments: list[Node] = []
        while self._next.type not in {TokenType.CLOSING_PARENTHESIS, TokenType.END}:
            # A comma between arguments is optional: expressions saved for parsers without commas keep their meaning.
            if arguments and self._next.type is TokenType.COMMA:
                self._take()
            arguments.append(self._argument(len(arguments)))
        self._expect(TokenType.CLOSING_PARENTHESIS, "func", "close the parenthesis with )")
        return tuple(arguments)

    def _argument(self, index: int) -> Node:
        if self._next.type is TokenType.STRING:
            message = f"parse: expected numberSet or seriesSet for argument {index}, got string"
            raise parse_error(message, self._source, self._next.position)
        return self._binary(_LOWEST_PRECEDENCE)


def _parse_number(number: str) -> float:
    if number[:2] in {"0x", "0X"}:
        return float(int(number, 16))
    # As in Grafana, a leading 0 makes a number of octal digits octal.
    if len(number) > 1 and number[0] == "0" and set(number) <= set("01234567"):
        return float(int(number, 8))
    return float(number)

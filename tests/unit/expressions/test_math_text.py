"""The lexer and parser convert the text of a math expression to a tree, and the printer converts the tree to text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.limits import EXPRESSION_DEPTH, EXPRESSION_LENGTH, Limits
from dashwright.expressions.engine.math.ast import Binary, Call, Node, Number, Unary, Variable
from dashwright.expressions.engine.math.evaluate import Math
from dashwright.expressions.engine.math.functions import FUNCTIONS
from dashwright.expressions.engine.math.lexer import tokens
from dashwright.expressions.engine.math.operators import BINARY, UNARY
from dashwright.expressions.engine.math.parser import parse
from dashwright.expressions.engine.math.printer import source_of
from dashwright.expressions.engine.values import Scalar

_NAMES = st.from_regex(r"[A-Za-z0-9_]{1,5}", fullmatch=True) | st.from_regex(r"[A-Za-z][A-Za-z0-9 ._/-]{0,8}", fullmatch=True)
_LEAVES = st.builds(Number, st.floats(min_value=0, allow_nan=False, allow_infinity=False)) | st.builds(Variable, _NAMES)


def _compound(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    """Return a strategy of calls and operators with inner nodes."""
    calls = st.sampled_from(sorted(FUNCTIONS)).flatmap(
        lambda name: st.builds(Call, st.just(name), st.tuples(*[inner] * FUNCTIONS[name].arity))
    )
    binaries = st.builds(Binary, st.sampled_from(sorted(BINARY)), inner, inner)
    return calls | binaries | st.builds(Unary, st.sampled_from(sorted(UNARY)), inner)


@settings(deadline=None)
@given(st.recursive(_LEAVES, _compound, max_leaves=12))
def test_a_printed_tree_parses_to_itself(tree: Node) -> None:
    """The text of any tree is parsed to the same tree."""
    assert parse(source_of(tree)) == tree


# Characters of expressions, and some that only resemble letters, digits or blanks of expressions.
_TEXT_OF_MATH = st.text(alphabet=st.sampled_from("$AB{} ()+-*/%!<>=&|,.0123456789xe\"'abs_nl\t\u00e9\u0663\u2003"), max_size=40)


def parse_to_tree_or_position(text: str) -> Node | int:
    """Return the tree of an expression, or the position of its error."""
    try:
        return parse(text)
    except BadRequest as error:
        return int(error.details["position"])


@settings(deadline=None)
@given(_TEXT_OF_MATH | st.text(max_size=40))
def test_any_text_is_an_expression_or_a_bad_request(text: str) -> None:
    """Any text is parsed and printed, or raises BadRequest with a position."""
    result = parse_to_tree_or_position(text)
    if isinstance(result, int):
        assert 1 <= result <= len(text) + 1
    else:
        assert parse(source_of(result)) == result


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${My Var}", [("var", "${My Var}")]),
        ("1 + $A", [("number", "1"), ("op", "+"), ("var", "$A")]),
        ("$A>=-1", [("var", "$A"), ("op", ">="), ("op", "-"), ("number", "1")]),
        ("2***3", [("number", "2"), ("op", "**"), ("op", "*"), ("number", "3")]),
        ('f("a", $b)', [("func", "f"), ("(", "("), ("string", '"a"'), (",", ","), ("var", "$b"), (")", ")")]),
    ],
)
def test_tokens_are_as_long_as_possible(text: str, expected: list[tuple[str, str]]) -> None:
    """White space separates tokens. Consecutive symbols are divided into the longest possible operators."""
    assert [(token.type.value, token.text) for token in tokens(text)] == [*expected, ("EOF", "")]


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (Binary("-", Number(1), Binary("-", Number(2), Number(3))), "1 - (2 - 3)"),
        (Binary("*", Binary("+", Number(1), Number(2)), Number(3)), "(1 + 2) * 3"),
        (Unary("-", Binary("**", Number(2), Number(2))), "-(2 ** 2)"),
        (Binary("**", Unary("-", Number(2)), Number(2)), "-2 ** 2"),
        (Call("abs", (Variable("my query"),)), "abs(${my query})"),
    ],
)
def test_printing_uses_the_parentheses_that_are_needed(tree: Node, text: str) -> None:
    """The text of a tree has only the parentheses that precedence and left association require."""
    assert source_of(tree) == text


def test_an_error_has_its_position() -> None:
    """The details of an error have its position, counted from 1, and the line of the error above a caret."""
    with pytest.raises(BadRequest) as error:
        parse("$A +\t) * 2")
    assert error.value.details == {"position": "6", "caret": "$A + ) * 2\n     ^"}


def test_the_caret_line_of_a_long_expression_is_truncated() -> None:
    """The caret line of a long expression has only the text around the error."""
    with pytest.raises(BadRequest) as error:
        parse("1 + " * 500 + ")")
    line, caret = error.value.details["caret"].split("\n")
    assert len(line) <= 80
    assert line[len(caret) - 1] == ")"


@pytest.mark.parametrize("opening", ["(", "-", "!", "abs(", "1||1&&1==1+1*1**("])
def test_deep_nesting_is_an_error(opening: str) -> None:
    """Nesting above the limit is an error with the limit, not a RecursionError. Nesting up to the limit is evaluated and printed."""
    with pytest.raises(BadRequest, match=f"deeper than {EXPRESSION_DEPTH} levels"):
        parse(opening * (EXPRESSION_LENGTH // len(opening)))
    # The last opening has a parenthesis inside an operand, which are two levels.
    levels_per_opening = 2 if opening.startswith("1") else 1
    count = (EXPRESSION_DEPTH - 1) // levels_per_opening
    nested = opening * count + "1" + ")" * (opening.count("(") * count)
    assert isinstance(Math.parse(nested).evaluate({}, Limits()).values, Scalar)
    assert parse(source_of(parse(nested))) == parse(nested)


def test_a_chain_of_operators_is_not_deep() -> None:
    """A sum of the maximum length is evaluated and printed."""
    text = "1" + "+1" * ((EXPRESSION_LENGTH - 1) // 2)
    values = Math.parse(text).evaluate({}, Limits()).values
    assert isinstance(values, Scalar)
    assert values.cells.values == EXPRESSION_LENGTH // 2
    assert source_of(parse(text)) == " + ".join(["1"] * (EXPRESSION_LENGTH // 2))


def test_a_long_expression_is_rejected() -> None:
    """An expression with one character above the limit is an error with the limit."""
    assert parse("1" + " " * (EXPRESSION_LENGTH - 1)) == Number(1)
    with pytest.raises(BadRequest, match=f"{EXPRESSION_LENGTH} allowed"):
        parse("1" + " " * EXPRESSION_LENGTH)


def test_inputs_are_named_once_in_the_order_of_the_text() -> None:
    """The inputs of an expression are its variables, each once, in the order of the text."""
    assert Math.parse("$B + abs(-$A) * ($C + $B) - ${my D}").inputs == ("B", "A", "C", "my D")


def test_every_function_and_operator_is_documented() -> None:
    """Every function and operator has a description of one line, from which the docs are generated."""
    docs = [function.doc for function in FUNCTIONS.values()] + [operator.doc for operator in BINARY.values()]
    assert all(doc and "\n" not in doc for doc in docs)

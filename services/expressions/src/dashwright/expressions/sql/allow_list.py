"""The allow list of statements: one SELECT over plain tables, of the nodes and functions listed here.

All other nodes and functions are refused by name.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from dashwright.expressions.engine.suggestion import suggestion
from dashwright.expressions.sql.bounds import DEPTH, LENGTH, TOKENS
from dashwright.expressions.sql.functions import FUNCTIONS
from dashwright.expressions.sql.mysql_grammar import GuestDialect
from dashwright.expressions.sql.refusals import Blocked, BlockedFunction, EmptyStatement, InvalidStatement, Position

_QUERY = frozenset({"with_", "order", "limit", "offset"})
_BINARY = frozenset({"this", "expression"})
_UNARY = frozenset({"this"})

#: The nodes of a statement's tree, and which of their parts are allowed.
NODES: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Select: _QUERY | {"expressions", "distinct", "from_", "joins", "where", "group", "having", "windows"},
    exp.Union: _QUERY | _BINARY | {"distinct"},
    exp.Intersect: _QUERY | _BINARY | {"distinct"},
    exp.Except: _QUERY | _BINARY | {"distinct"},
    exp.Subquery: _QUERY | {"this", "alias"},
    exp.With: frozenset({"expressions", "recursive"}),
    exp.CTE: frozenset({"this", "alias"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.JSONTable: frozenset({"this", "path", "schema"}),
    exp.JSONSchema: frozenset({"expressions"}),
    exp.JSONColumnDef: frozenset({"this", "kind", "path", "ordinality"}),
    exp.Table: frozenset({"this", "alias", "joins"}),
    exp.From: _UNARY,
    exp.Join: frozenset({"this", "on", "side", "kind", "using", "method"}),
    exp.Where: _UNARY,
    exp.Group: frozenset({"expressions", "rollup"}),
    exp.Rollup: frozenset({"expressions"}),
    exp.Having: _UNARY,
    exp.Order: frozenset({"this", "expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Offset: frozenset({"expression"}),
    exp.Distinct: frozenset({"expressions"}),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "alias", "over"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Column: frozenset({"this", "table"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Star: frozenset(),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.National: _UNARY,
    exp.Introducer: _BINARY,
    exp.Boolean: _UNARY,
    exp.Null: frozenset(),
    exp.Paren: _UNARY,
    exp.Tuple: frozenset({"expressions"}),
    exp.Var: _UNARY,
    exp.Anonymous: frozenset({"this", "expressions"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.DataType: frozenset({"this", "expressions", "kind", "nested"}),
    exp.DataTypeParam: _UNARY,
    exp.Collate: _BINARY,
    exp.Interval: frozenset({"this", "unit"}),
    exp.Extract: _BINARY,
    exp.Trim: frozenset({"this", "expression", "position"}),
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.StrPosition: frozenset({"this", "substr"}),
    exp.GroupConcat: frozenset({"this", "separator"}),
    exp.Concat: frozenset({"expressions", "safe", "coalesce"}),
    exp.JSONExtract: frozenset({"this", "expression", "only_json_types"}),
    exp.JSONExtractScalar: frozenset({"this", "expression", "only_json_types", "scalar_only"}),
    exp.JSONArrayContains: _BINARY,
    exp.Exists: _UNARY,
    exp.Any: _UNARY,
    exp.All: _UNARY,
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.Like: _BINARY | {"negate"},
    exp.Escape: _BINARY,
    exp.RegexpLike: _BINARY,
    exp.Is: _BINARY,
    exp.Not: _UNARY,
    exp.And: _BINARY,
    exp.Or: _BINARY,
    exp.Xor: _BINARY,
    exp.EQ: _BINARY,
    exp.NEQ: _BINARY,
    exp.NullSafeEQ: _BINARY,
    exp.LT: _BINARY,
    exp.LTE: _BINARY,
    exp.GT: _BINARY,
    exp.GTE: _BINARY,
    exp.Add: _BINARY,
    exp.Sub: _BINARY,
    exp.Mul: _BINARY,
    exp.Div: _BINARY | {"typed", "safe"},
    exp.IntDiv: _BINARY,
    exp.Mod: _BINARY,
    exp.Neg: _UNARY,
    exp.BitwiseAnd: _BINARY,
    exp.BitwiseOr: _BINARY,
    exp.BitwiseXor: _BINARY,
    exp.BitwiseNot: _UNARY,
    exp.BitwiseLeftShift: _BINARY,
    exp.BitwiseRightShift: _BINARY,
}

_JOINS = {"side": {"", "LEFT", "RIGHT", "FULL"}, "kind": {"", "INNER", "OUTER", "CROSS", "STRAIGHT_JOIN"}, "method": {"", "NATURAL"}}
_WORDS: Mapping[type[exp.Expr], str] = {
    exp.Into: "INTO",
    exp.Lock: "FOR UPDATE",
    exp.Parameter: "@",
    exp.SessionParameter: "@@",
    exp.Hint: "/*+",
    exp.Lateral: "LATERAL",
    exp.Placeholder: "?",
    exp.Dot: ".",
    exp.Bracket: "[",
    exp.Array: "[",
    exp.Struct: "{",
    exp.HexString: "0x",
    exp.BitString: "0b",
}
_BEGINS = {TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN}
_BLOCKED = {TokenType.HINT, TokenType.PARAMETER, TokenType.SESSION_PARAMETER, TokenType.INTO}
_KEYWORDS = ("SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "JOIN", "UNION", "DISTINCT")
_SHOWN = 40
_HIDDEN = re.compile(r"/\*(?:!|\+|M!)")
_OPENS, _CLOSES = {TokenType.L_PAREN, TokenType.CASE}, {TokenType.R_PAREN, TokenType.END}


def parsed(text: str) -> exp.Query:
    """Return the tree of a statement whose every part is allowed. Raises a Refusal."""
    if not text.strip():
        raise EmptyStatement("")
    if len(text) > LENGTH:
        raise InvalidStatement(f"it has {len(text)} characters, more than the {LENGTH} allowed; split it")
    dialect = GuestDialect()
    tokens = _tokens(dialect, text)
    _look_over(text, tokens)
    try:
        (tree,) = dialect.parser().parse(tokens, text)
    except ParseError as error:
        raise _unparsed(error, tokens) from error
    if not isinstance(tree, exp.Query):
        raise InvalidStatement("it is not a SELECT")
    for node in tree.walk():
        _allow(node)
    return tree


def _tokens(dialect: GuestDialect, text: str) -> list[Token]:
    try:
        tokens = dialect.tokenize(text)
    except TokenError as error:
        raise InvalidStatement("it cannot be split into words; is a quote or a comment left open?") from error
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise EmptyStatement("")
    if len(tokens) > TOKENS:
        raise InvalidStatement(f"it has {len(tokens)} words and signs, more than the {TOKENS} allowed; split it")
    for token in tokens:
        # sqlglot would attach comments to its nodes and read optimizer hints from them.
        token.comments = []
    return tokens


def _look_over(text: str, tokens: list[Token]) -> None:
    """Refuse what the words alone show, before a recursive parser reads them."""
    first = next((token for token in tokens if token.token_type is not TokenType.L_PAREN), tokens[0])
    if first.token_type not in _BEGINS:
        advice = suggestion(first.text, ("SELECT", "WITH"))
        raise Blocked(first.text.upper(), (first.line, _column(first)), advice)
    depth, end = 0, 0
    for token in tokens:
        place = (token.line, _column(token))
        if token.token_type is TokenType.SEMICOLON:
            raise InvalidStatement("it is more than one statement", place)
        _look_between(text, end, token.start)
        if token.token_type in _BLOCKED:
            raise Blocked(token.text.upper().split(" ")[0], place)
        end = token.end + 1
        depth += (token.token_type in _OPENS) - (token.token_type in _CLOSES)
        if depth > DEPTH:
            raise InvalidStatement(f"it nests deeper than {DEPTH} levels; name a part of it in a WITH clause", place)
    _look_between(text, end, len(text))


def _look_between(text: str, start: int, end: int) -> None:
    """Refuse comments that MySQL does not skip, because they may hide parts of the statement."""
    if hidden := _HIDDEN.search(text, start, end):
        line_start = text.rfind("\n", 0, hidden.start()) + 1
        raise Blocked(hidden[0], (text.count("\n", 0, line_start) + 1, hidden.start() - line_start + 1))


def _column(token: Token) -> int:
    return token.col - (token.end - token.start)


def _unparsed(error: ParseError, tokens: Iterable[Token]) -> InvalidStatement:
    if not error.errors:
        return InvalidStatement(str(error))
    first = error.errors[0]
    near, line, column = first.get("highlight"), first.get("line"), first.get("col")
    why = str(first.get("description") or "it cannot be parsed")
    position = (line, column - max(len(near or ""), 1) + 1) if line and column else None
    return InvalidStatement(f"{why[:1].lower()}{why[1:]}" + (f", near '{near}'" if near else "") + _misspelt(tokens), position)


def _misspelt(tokens: Iterable[Token]) -> str:
    """Return a suggestion for a word that is probably meant as a keyword."""
    for token in tokens:
        if token.token_type is TokenType.VAR and token.text.upper() not in _KEYWORDS and (meant := suggestion(token.text, _KEYWORDS)):
            return f"; '{token.text[:_SHOWN]}'{meant.replace('; did', ': did')}"
    return ""


def _allow(node: exp.Expr) -> None:
    allowed = NODES.get(type(node))
    if allowed is None:
        raise Blocked(_WORDS.get(type(node), type(node).__name__.upper()), place_of(node))
    if isinstance(node, (exp.Table, exp.Column)) and node.args.get("db"):
        raise InvalidStatement("a name has at most two parts, the refId of a query and a column of it", place_of(node))
    for part, value in node.args.items():
        if value and part not in allowed:
            raise Blocked(_word(part, value), place_of(node))
    match node:
        case exp.Table():
            _allow_table(node)
        case exp.Join():
            for part, words in _JOINS.items():
                if str(node.args.get(part) or "").upper() not in words:
                    raise Blocked(str(node.args[part]).upper(), place_of(node))
        case exp.Anonymous():
            _allow_call(node)
        case exp.Select() if not node.expressions:
            raise InvalidStatement("a SELECT names no columns", place_of(node))
        case exp.Group() if not (node.expressions or node.args.get("rollup")):
            raise InvalidStatement("GROUP BY names no columns", place_of(node))
        case exp.Order() if not isinstance(node.parent, (exp.Query, exp.Window, exp.GroupConcat)):
            raise Blocked("ORDER BY", place_of(node))
        case exp.Distinct() if any(isinstance(part, exp.Star) for part in node.expressions):
            raise InvalidStatement("DISTINCT takes no *", place_of(node))
        case exp.GroupConcat() if (separator := node.args.get("separator")) is not None and not separator.is_string:
            raise InvalidStatement("SEPARATOR takes a text", place_of(node))
        case exp.Window() if not _goes_over_windows(node):
            raise InvalidStatement("OVER belongs after an aggregate or window function", place_of(node))
        case exp.Interval() if isinstance(node.this, exp.Tuple):
            raise BlockedFunction("interval", place_of(node))


def _word(part: str, value: object) -> str:
    first = value[0] if isinstance(value, list) else value
    if isinstance(first, exp.Var):
        return first.name.upper()
    return (_WORDS.get(type(first)) if isinstance(first, exp.Expr) else None) or part.upper().replace("_", " ").strip()


def _allow_table(table: exp.Table) -> None:
    if isinstance(table.this, exp.JSONTable):
        return
    if not isinstance(table.this, exp.Identifier):
        if isinstance(table.this, exp.Anonymous):
            raise BlockedFunction(table.this.name, place_of(table.this))
        raise InvalidStatement("a table is the refId of a query, in backticks if it is not a plain word", place_of(table))


def _allow_call(call: exp.Anonymous) -> None:
    """Check a call by the name as written, whatever it means in another dialect."""
    name = call.name
    function = FUNCTIONS.get(name.lower())
    if function is None or isinstance(call.this, exp.Identifier):
        raise BlockedFunction(name, place_of(call), suggestion(name, FUNCTIONS))
    count = len(call.expressions)
    if count < function.least or (function.most is not None and count > function.most):
        raise InvalidStatement(f"{name} is used as {function.usage}; here it has {count} arguments", place_of(call))
    if function.window and not (isinstance(call.parent, exp.Window) and call.arg_key == "this"):
        raise InvalidStatement(f"{name} needs a window; write {function.usage} OVER (…)", place_of(call))
    if any(isinstance(argument, exp.Distinct) for argument in call.expressions) and not function.distinct:
        raise InvalidStatement(f"{name} does not take DISTINCT", place_of(call))
    if any(isinstance(argument, exp.Star) for argument in call.expressions) and name.lower() != "count":
        raise InvalidStatement(f"{name} does not take *", place_of(call))


def _goes_over_windows(window: exp.Window) -> bool:
    """Return whether the node may have an OVER clause.

    A definition in the WINDOW clause has none, but names a window.
    """
    over = window.this
    if isinstance(over, exp.Anonymous):
        function = FUNCTIONS.get(over.name.lower())
        return function is None or function.aggregate or function.window
    return isinstance(over, (exp.Identifier, exp.GroupConcat))


def place_of(node: exp.Expr) -> Position | None:
    """Return the position of the node, or of the first of its parts whose position is known."""
    for found in _with_places(node):
        line, column, start, end = (found.meta_get(key) for key in ("line", "col", "start", "end"))
        return line, column - (end - start)
    return None


def _with_places(node: exp.Expr) -> Iterator[exp.Expr]:
    return (part for part in node.walk() if part.meta_get("line"))

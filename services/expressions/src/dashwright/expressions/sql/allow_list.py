"""The allow list of statements: one SELECT from tables, with the syntax and functions listed here.

All other syntax and functions are rejected by name.
"""

import re
from collections.abc import Iterable, Mapping

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from dashwright.expressions.engine.suggestion import suggestion
from dashwright.expressions.sql.bounds import MAX_DEPTH, MAX_LENGTH, MAX_TOKENS
from dashwright.expressions.sql.functions import FUNCTIONS
from dashwright.expressions.sql.mysql_grammar import StatementDialect
from dashwright.expressions.sql.statement_errors import EmptyStatement, FunctionNotAllowed, InvalidStatement, Position, SyntaxNotAllowed

# Names of arguments that several types of nodes have, as in sqlglot: queries, and operators with two operands and with one.
_QUERY = frozenset({"with_", "order", "limit", "offset"})
_BINARY = frozenset({"this", "expression"})
_UNARY = frozenset({"this"})

#: The allowed types of nodes of a syntax tree, each with the names of its allowed arguments, as in sqlglot.
ALLOWED_NODES: Mapping[type[exp.Expr], frozenset[str]] = {
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

#: The allowed values of a join's arguments.
_JOIN_VALUES = {"side": {"", "LEFT", "RIGHT", "FULL"}, "kind": {"", "INNER", "OUTER", "CROSS", "STRAIGHT_JOIN"}, "method": {"", "NATURAL"}}
#: The keyword or character that a message names, for types of nodes whose class has another name.
_SYNTAX_NAMES: Mapping[type[exp.Expr], str] = {
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
#: The tokens with which a statement may start.
_FIRST_TOKENS = {TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN}
#: Tokens that a statement must not have anywhere.
_BLOCKED_TOKENS = {TokenType.HINT, TokenType.PARAMETER, TokenType.SESSION_PARAMETER, TokenType.INTO}
#: Keywords to suggest for misspelled words.
_KEYWORDS = ("SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "JOIN", "UNION", "DISTINCT")
#: The maximum number of characters of a misspelled word that a message quotes.
_MAX_WORD_LENGTH = 40
#: The start of a comment that MySQL or MariaDB executes, or reads as an optimizer hint.
_EXECUTABLE_COMMENT = re.compile(r"/\*(?:!|\+|M!)")
#: The tokens that start and end a level of nesting.
_OPENING_TOKENS, _CLOSING_TOKENS = {TokenType.L_PAREN, TokenType.CASE}, {TokenType.R_PAREN, TokenType.END}


def parse(statement: str) -> exp.Query:
    """Return the syntax tree of a statement. Raises StatementError if it is invalid or not allowed."""
    if not statement.strip():
        raise EmptyStatement("")
    if len(statement) > MAX_LENGTH:
        raise InvalidStatement(f"it has {len(statement)} characters, more than the {MAX_LENGTH} allowed; split it")
    dialect = StatementDialect()
    tokens = _tokens(dialect, statement)
    _check_tokens(statement, tokens)
    try:
        (tree,) = dialect.parser().parse(tokens, statement)
    except ParseError as error:
        raise _parse_error(error, tokens) from error
    if not isinstance(tree, exp.Query):
        raise InvalidStatement("it is not a SELECT")
    for node in tree.walk():
        _check_node(node)
    return tree


def _tokens(dialect: StatementDialect, statement: str) -> list[Token]:
    """Return the tokens of a statement, without comments and trailing semicolons."""
    try:
        tokens = dialect.tokenize(statement)
    except TokenError as error:
        raise InvalidStatement("it cannot be split into words; is a quote or a comment left open?") from error
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise EmptyStatement("")
    if len(tokens) > MAX_TOKENS:
        raise InvalidStatement(f"it has {len(tokens)} tokens, more than the {MAX_TOKENS} allowed; split it")
    for token in tokens:
        # sqlglot would attach comments to its nodes and read optimizer hints from them.
        token.comments = []
    return tokens


def _check_tokens(statement: str, tokens: list[Token]) -> None:
    """Raise StatementError for a blocked token or comment, a second statement, or too many levels.

    The depth must be checked before the parser runs, because the parser is recursive.
    """
    first_token = next((token for token in tokens if token.token_type is not TokenType.L_PAREN), tokens[0])
    if first_token.token_type not in _FIRST_TOKENS:
        advice = suggestion(first_token.text, ("SELECT", "WITH"))
        raise SyntaxNotAllowed(first_token.text.upper(), (first_token.line, _column(first_token)), advice)
    depth, previous_end = 0, 0
    for token in tokens:
        position = (token.line, _column(token))
        if token.token_type is TokenType.SEMICOLON:
            raise InvalidStatement("it is more than one statement", position)
        _check_comments(statement, previous_end, token.start)
        if token.token_type in _BLOCKED_TOKENS:
            # The text of a hint is more than its first word.
            raise SyntaxNotAllowed(token.text.upper().split(" ")[0], position)
        previous_end = token.end + 1
        depth += (token.token_type in _OPENING_TOKENS) - (token.token_type in _CLOSING_TOKENS)
        if depth > MAX_DEPTH:
            raise InvalidStatement(f"it nests deeper than {MAX_DEPTH} levels; name a part of it in a WITH clause", position)
    _check_comments(statement, previous_end, len(statement))


def _check_comments(statement: str, start: int, end: int) -> None:
    """Raise SyntaxNotAllowed for a comment between two offsets that MySQL would execute, because it may hide a part of the statement."""
    if comment := _EXECUTABLE_COMMENT.search(statement, start, end):
        line_start = statement.rfind("\n", 0, comment.start()) + 1
        line, column = statement.count("\n", 0, line_start) + 1, comment.start() - line_start + 1
        raise SyntaxNotAllowed(comment[0], (line, column))


def _column(token: Token) -> int:
    """Return the column at which a token starts; ``token.col`` is the column of its last character."""
    return token.col - (token.end - token.start)


def _parse_error(error: ParseError, tokens: Iterable[Token]) -> InvalidStatement:
    """Return the error of a statement that the parser rejects, with its position and a suggestion."""
    if not error.errors:
        return InvalidStatement(str(error))
    first_error = error.errors[0]
    excerpt, line, column = first_error.get("highlight"), first_error.get("line"), first_error.get("col")
    reason = str(first_error.get("description") or "it cannot be parsed")
    # sqlglot gives the column of the last character of the excerpt.
    position = (line, column - max(len(excerpt or ""), 1) + 1) if line and column else None
    return InvalidStatement(
        f"{reason[:1].lower()}{reason[1:]}" + (f", near '{excerpt}'" if excerpt else "") + _keyword_suggestion(tokens), position
    )


def _keyword_suggestion(tokens: Iterable[Token]) -> str:
    """Return a suggestion for the first word that resembles a keyword, or an empty string."""
    for token in tokens:
        if token.token_type is TokenType.VAR and token.text.upper() not in _KEYWORDS and (hint := suggestion(token.text, _KEYWORDS)):
            # The hint is "; did you mean X?", and follows a colon here.
            return f"; '{token.text[:_MAX_WORD_LENGTH]}'{hint.replace('; did', ': did')}"
    return ""


def _check_node(node: exp.Expr) -> None:
    """Raise StatementError if a node, or the way in which it is used, is not allowed."""
    allowed = ALLOWED_NODES.get(type(node))
    if allowed is None:
        raise SyntaxNotAllowed(_SYNTAX_NAMES.get(type(node), type(node).__name__.upper()), position_of(node))
    if isinstance(node, (exp.Table, exp.Column)) and node.args.get("db"):
        raise InvalidStatement("a name has at most two parts, the refId of a query and a column of it", position_of(node))
    for key, value in node.args.items():
        if value and key not in allowed:
            raise SyntaxNotAllowed(_syntax_name(key, value), position_of(node))
    match node:
        case exp.Table():
            _check_table(node)
        case exp.Join():
            for key, allowed_values in _JOIN_VALUES.items():
                if str(node.args.get(key) or "").upper() not in allowed_values:
                    raise SyntaxNotAllowed(str(node.args[key]).upper(), position_of(node))
        case exp.Anonymous():
            _check_call(node)
        case exp.Select() if not node.expressions:
            raise InvalidStatement("a SELECT has no columns; list columns, or write *", position_of(node))
        case exp.Group() if not (node.expressions or node.args.get("rollup")):
            raise InvalidStatement("GROUP BY has no columns; list columns or expressions", position_of(node))
        case exp.Order() if not isinstance(node.parent, (exp.Query, exp.Window, exp.GroupConcat)):
            raise SyntaxNotAllowed("ORDER BY", position_of(node))
        case exp.Distinct() if any(isinstance(argument, exp.Star) for argument in node.expressions):
            raise InvalidStatement("DISTINCT does not take *; list columns", position_of(node))
        case exp.GroupConcat() if (separator := node.args.get("separator")) is not None and not separator.is_string:
            raise InvalidStatement("SEPARATOR must be followed by a string", position_of(node))
        case exp.Window() if not _may_have_over_clause(node):
            raise InvalidStatement("OVER belongs after an aggregate or window function", position_of(node))
        case exp.Interval() if isinstance(node.this, exp.Tuple):
            # INTERVAL(n, x, …) is MySQL's function, not an interval.
            raise FunctionNotAllowed("interval", position_of(node))


def _syntax_name(key: str, value: object) -> str:
    """Return the keyword for ``value``, the argument ``key`` of a node, for a message. A value may be a list of nodes."""
    child = value[0] if isinstance(value, list) else value
    if isinstance(child, exp.Var):
        return child.name.upper()
    return (_SYNTAX_NAMES.get(type(child)) if isinstance(child, exp.Expr) else None) or key.upper().replace("_", " ").strip()


def _check_table(table: exp.Table) -> None:
    """Raise StatementError if a table is neither a name nor JSON_TABLE, such as another table function."""
    if isinstance(table.this, exp.JSONTable):
        return
    if not isinstance(table.this, exp.Identifier):
        if isinstance(table.this, exp.Anonymous):
            raise FunctionNotAllowed(table.this.name, position_of(table.this))
        raise InvalidStatement("a table is the refId of a query, in backticks if it is not a plain word", position_of(table))


def _check_call(call: exp.Anonymous) -> None:
    """Raise StatementError if a function is not allowed, or is called with arguments that it does not take."""
    name = call.name
    function = FUNCTIONS.get(name.lower())
    # The name is an Identifier if it is in backticks: MySQL does not look up such a name among its built-in functions.
    if function is None or isinstance(call.this, exp.Identifier):
        raise FunctionNotAllowed(name, position_of(call), suggestion(name, FUNCTIONS))
    count = len(call.expressions)
    if count < function.min_arguments or (function.max_arguments is not None and count > function.max_arguments):
        raise InvalidStatement(f"{name} is used as {function.usage}; here it has {count} arguments", position_of(call))
    if function.is_window and not (isinstance(call.parent, exp.Window) and call.arg_key == "this"):
        raise InvalidStatement(f"{name} needs a window; write {function.usage} OVER (…)", position_of(call))
    if any(isinstance(argument, exp.Distinct) for argument in call.expressions) and not function.takes_distinct:
        raise InvalidStatement(f"{name} does not take DISTINCT", position_of(call))
    if any(isinstance(argument, exp.Star) for argument in call.expressions) and name.lower() != "count":
        raise InvalidStatement(f"{name} does not take *", position_of(call))


def _may_have_over_clause(window: exp.Window) -> bool:
    """Return whether the function of an OVER clause may have one. True for a definition in the WINDOW clause."""
    function_node = window.this
    if isinstance(function_node, exp.Anonymous):
        function = FUNCTIONS.get(function_node.name.lower())
        # An unknown function gets its own error from ``_check_call``.
        return function is None or function.is_aggregate or function.is_window
    return isinstance(function_node, (exp.Identifier, exp.GroupConcat))


def position_of(node: exp.Expr) -> Position | None:
    """Return the position of the node, or of its first descendant with a known position."""
    for descendant in node.walk():
        if descendant.meta_get("line"):
            line, column, start, end = (descendant.meta_get(key) for key in ("line", "col", "start", "end"))
            return line, column - (end - start)
    return None

"""The syntax that a statement may have, and the rejection of everything else."""

import re

import pytest

from dashwright.common.errors import BadRequest
from dashwright.expressions.sql.relation import Statement
from dashwright.expressions.sql.statement import parse_statement

ALLOWED = [
    "SELECT value, CASE WHEN value > 100 THEN 'high' WHEN value > 50 THEN 'medium' ELSE 'low' END AS category FROM metrics",
    "SELECT 1 WHERE 1 IN (1, 2, 3)",
    "SELECT 1 AS id, GROUP_CONCAT('a', 'b') AS joined",
    "SELECT 'some text' COLLATE utf8mb4_bin",
    "SELECT '2024-04-01 15:30:00' BETWEEN '2024-04-01 15:29:00' AND '2024-04-01 15:31:00'",
    """SELECT JSON_EXTRACT('{"id": 123}', '$.id') AS found""",
    "SELECT IF(value > 100, 'high', 'low') FROM s",
    "SELECT ABS(v), ROUND(v, 2), FLOOR(v), CEILING(v), CEIL(v), SQRT(v), POW(v, 2), POWER(v, 2) FROM s",
    "SELECT MOD(v, 10), LOG(v), LOG10(v), EXP(v), SIGN(v) FROM s",
    "SELECT CONCAT('a', n), LENGTH(n), CHAR_LENGTH(n), LOWER(n), UPPER(n), SUBSTRING(n, 1, 5), TRIM(n) FROM s",
    "SELECT DATE_FORMAT(t, '%Y-%m-%d'), DATE_ADD(t, INTERVAL 1 DAY), YEAR(t), MONTH(t), DAY(t), WEEKDAY(t), UNIX_TIMESTAMP(t) FROM s",
    "SELECT FROM_UNIXTIME(1634567890)",
    "SELECT * FROM A WHERE NOT (v > 1)",
    "SELECT now(), curdate(), curtime(), greatest(1, 2)",
    "SELECT a FROM A WHERE EXISTS (SELECT 1 FROM B WHERE B.a = A.a)",
    "SELECT a, sum(b) OVER w FROM A WINDOW w AS (PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    "SELECT sum(b) OVER (ORDER BY time RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND CURRENT ROW) FROM A",
    "SELECT `two words`.a FROM `two words` STRAIGHT_JOIN B LEFT JOIN C USING (a) NATURAL JOIN D CROSS JOIN E",
    "(SELECT 1) UNION ALL (SELECT 2) ORDER BY 1 LIMIT 1, 2",
    "SELECT 1; ",
    "SELECT 1 -- the end",
    "SELECT /* a word */ 1 # more",
    "SELECT a FROM DUAL",
    "SELECT '/*! not a comment */', '-- nor this', 'a;b', '@x'",
    "SELECT `@x` FROM A",
]

# Statements with syntax that is not allowed, and the function or keyword that the error names.
BLOCKED = [
    ("SELECT SLEEP(5)", "SLEEP"),
    ("SELECT benchmark(1, 2)", "benchmark"),
    ("SELECT load_file('/etc/passwd')", "load_file"),
    ("SELECT read_csv('x')", "read_csv"),
    ("SELECT * FROM read_csv('x')", "read_csv"),
    ("SELECT * FROM glob('*')", "glob"),
    ("SELECT * FROM generate_series(1, 2)", "generate_series"),
    ("SELECT getenv('HOME')", "getenv"),
    ("SELECT current_setting('x')", "current_setting"),
    # The name of the macro of DuckDB that implements ``abs``.
    ("SELECT mysql_abs(1)", "mysql_abs"),
    ("SELECT list_transform(a, 1) FROM A", "list_transform"),
    ("SELECT string_agg(a, ',') FROM A", "string_agg"),
    ("SELECT date_trunc('day', t) FROM A", "date_trunc"),
    ("SELECT columns('x') FROM A", "columns"),
    ("SELECT user()", "user"),
    ("SELECT current_user()", "current_user"),
    ("SELECT database()", "database"),
    ("SELECT version()", "version"),
    ("SELECT `abs`(1)", "abs"),
    # A full-width letter a.
    ("SELECT \uff41bs(1)", "\uff41bs"),
    ("SELECT interval(1, 2)", "interval"),
    ("SELECT @@hostname", "@@"),
    ("SELECT @x", "@"),
    ("SELECT @x := 1", "@"),
    ("SELECT 1 INTO OUTFILE 'x'", "INTO"),
    ("SELECT 1 INTO @x", "INTO"),
    ("INSERT INTO A VALUES (1)", "INSERT"),
    ("DROP TABLE A", "DROP"),
    ("CREATE TABLE x AS SELECT 1", "CREATE"),
    ("COPY A TO 'x'", "COPY"),
    ("ATTACH 'x'", "ATTACH"),
    ("SET x = 1", "SET"),
    ("PRAGMA version", "PRAGMA"),
    ("EXPLAIN SELECT 1", "EXPLAIN"),
    ("SHOW TABLES", "SHOW"),
    ("CALL x()", "CALL"),
    ("WITH x AS (DELETE FROM A) SELECT 1", "DELETE"),
    ("VALUES ROW(1)", "VALUES"),
    ("TABLE A", "TABLE"),
    ("FROM A", "FROM"),
    ("SELECT a FROM A FOR UPDATE", "FOR UPDATE"),
    ("SELECT a FROM A LOCK IN SHARE MODE", "FOR UPDATE"),
    ("SELECT /*! 1 */ 2", "/*!"),
    ("SELECT /*+ NO_INDEX */ 2", "/*+"),
    ("SELECT /*M! 1 */ 2", "/*M!"),
    ("SELECT SQL_NO_CACHE a FROM A", "SQL_NO_CACHE"),
    ("SELECT a FROM A, LATERAL (SELECT 1) x", "LATERAL"),
    ("SELECT a FROM A SEMI JOIN B ON 1", "SEMI"),
    ("SELECT a FROM A ASOF JOIN B ON A.t >= B.t", "ASOF"),
    ("SELECT DISTINCT ON (a) a FROM A", "ON"),
    ("SELECT * EXCLUDE (a) FROM A", "EXCEPT"),
    ("SELECT a FROM A QUALIFY 1", "QUALIFY"),
    ("SELECT a FROM A TABLESAMPLE 10", "SAMPLE"),
    ("SELECT a FROM A PARTITION (p)", "PARTITION"),
    ("SELECT a FROM A USE INDEX (i)", "HINTS"),
    ("SELECT count(*) FILTER (WHERE a) FROM A", "FILTER"),
    ("SELECT sum(a ORDER BY b) FROM A", "ORDER BY"),
    ("SELECT [1]", "["),
    ("SELECT {'a': 1}", "{"),
    ("SELECT a[1] FROM A", "["),
    ("SELECT ?", "?"),
    ("SELECT a FROM A GROUP BY ALL", "ALL"),
    ("SELECT * FROM A UNION BY NAME SELECT * FROM B", "BY NAME"),
    ("SELECT sys.abs(1)", "."),
    ("SELECT match(a) FROM A", "match"),
]

# Statements of allowed syntax that are invalid, and a part of the reason, or an empty string if any reason is accepted.
INVALID = [
    ("SELECT 1; SELECT 2", "more than one statement"),
    ("SELECT 1; DROP TABLE A", "more than one statement"),
    ("SELECT * FROM x.y", "at most two parts"),
    ("SELECT * FROM memory.main.A", "at most two parts"),
    ("SELECT x.y.z FROM A", "at most two parts"),
    ("SELECT", "no columns"),
    ("SELECT FROM A", "no columns"),
    ("SELECT 'abc", "left open"),
    ("SELECT `abc", "left open"),
    ("SELECT /* abc", "left open"),
    ("SELECT (1", "expecting )"),
    ("SELECT 1 +", ""),
    ("SELECT a b c FROM A", ""),
    ("SELECT abs(1, 2)", "abs(x)"),
    ("SELECT abs()", "abs(x)"),
    ("SELECT abs(DISTINCT a) FROM A", "DISTINCT"),
    ("SELECT abs(*) FROM A", "*"),
    ("SELECT count(DISTINCT *) FROM A", "*"),
    ("SELECT lag(a) FROM A", "OVER"),
    ("SELECT abs(a) OVER () FROM A", "OVER"),
    ("SELECT INTERVAL 1 DAY", "INTERVAL"),
    ("SELECT date_add(t, 1) FROM A", "INTERVAL"),
    ("SELECT t + INTERVAL 1 FORTNIGHT FROM A", "FORTNIGHT"),
    ("SELECT extract(epoch FROM t) FROM A", "EPOCH"),
    ("SELECT timestampdiff(eon, t, t) FROM A", "eon"),
    ("SELECT cast(a AS hugeint) FROM A", "CAST"),
    ("SELECT cast(a AS decimal(60, 2)) FROM A", "DECIMAL"),
    ("SELECT json_extract(a, b) FROM A", "JSON path"),
    ("SELECT json_set(a, '$.x') FROM A", "json_set"),
    ("SELECT str_to_date(a, b) FROM A", "str_to_date"),
    ('SELECT a COLLATE "x;y" FROM A', "collation"),
    ("SELECT a FROM A LIMIT a", "LIMIT"),
    ("SELECT a FROM A JOIN a", "capital letters"),
    ("SELECT a IS TRUE + 1 FROM A", "IS takes NULL"),
    ("SELECT a IS b FROM A", "IS takes NULL"),
]


@pytest.mark.parametrize("text", ALLOWED)
def test_allowed_statements_are_parsed(text: str) -> None:
    """Statements with all kinds of allowed syntax are parsed."""
    assert isinstance(parse_statement(text, "B"), Statement)


@pytest.mark.parametrize(("text", "word"), BLOCKED)
def test_other_syntax_is_rejected_by_name(text: str, word: str) -> None:
    """The error of syntax that is not allowed names the function as the user wrote it, or a keyword of the syntax.

    Its id is the one that clients expect.
    """
    with pytest.raises(BadRequest) as error:
        parse_statement(text, "B")
    assert error.value.message_id == "sse.sql.blocked_node_or_func", error.value.message
    pattern = f"did not execute the SQL expression B because the sql (function|keyword) '{re.escape(word)}' is not in the allowed list of "
    assert re.match(pattern, error.value.message)


@pytest.mark.parametrize(("text", "reason"), INVALID)
def test_a_syntax_error_is_explained(text: str, reason: str) -> None:
    """The error of invalid syntax is a sentence with the refId."""
    with pytest.raises(BadRequest) as error:
        parse_statement(text, "B")
    assert error.value.message_id == "sse.sql.invalid_query", error.value.message
    assert error.value.message.startswith("sql expression [B] failed because it has an invalid SQL query: ")
    assert reason in error.value.message


@pytest.mark.parametrize("text", ["", "  \n", ";", "-- nothing", "/* nothing */"])
def test_an_empty_statement_is_an_error(text: str) -> None:
    """A statement with only white space, comments or ``;`` is empty, which is an error."""
    with pytest.raises(BadRequest, match=r"sql expression \[B\] failed because it has an empty SQL query") as error:
        parse_statement(text, "B")
    assert error.value.message_id == "sse.sql.empty_query"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("SELECT 1,\n  sleep(5)", 2, 3), ("SELECT 1\n  FROM FROM", 2, 8), ("SELECT 1\n/*! 2 */", 2, 1), ("SELECT 1, abs(1, 2)", 1, 11)],
)
def test_an_error_has_its_position(text: str, line: int, column: int) -> None:
    """The error of a statement has the line and the column of the fault, counted from 1, in its text and as fields."""
    with pytest.raises(BadRequest) as error:
        parse_statement(text, "B")
    assert error.value.details == {"line": str(line), "column": str(column)}
    assert error.value.message.endswith(f"(line {line}, column {column})")


def test_a_statement_that_is_too_long_is_rejected() -> None:
    """A statement that is too long is rejected before it is parsed."""
    with pytest.raises(BadRequest, match="100000 allowed"):
        parse_statement(f"SELECT '{'x' * 100_000}'", "B")

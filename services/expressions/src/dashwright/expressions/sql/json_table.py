"""The table function JSON_TABLE, which returns rows of a JSON document."""

from sqlglot import exp

from dashwright.expressions.sql.casts import build_cast
from dashwright.expressions.sql.coercion import coerce
from dashwright.expressions.sql.duckdb_sql import call, macro, string_literal
from dashwright.expressions.sql.functions.documents import path_of
from dashwright.expressions.sql.sql_type import SqlType, with_type
from dashwright.expressions.sql.statement_errors import InvalidStatement

#: The name of the column of items, which are structs of an ``item`` and its ``number``.
_ITEM_COLUMN = "json item"

MACROS = (
    macro("json_numbered(l)", "list_transform(coalesce(cast(l as json[]), []), lambda item, number: {'item': item, 'number': number})"),
)


def json_table_rows(table: exp.Table, json_table: exp.JSONTable) -> exp.Expr:
    """Return the derived table that replaces a JSON_TABLE. Raises InvalidStatement."""
    path = path_of(json_table.args["path"])
    if not table.alias:
        raise InvalidStatement("JSON_TABLE needs a name: JSON_TABLE(…) AS t")
    value = call("json_extract", coerce(json_table.this, SqlType.JSON), string_literal(path.duckdb_path))
    # Only for a path with a wildcard, DuckDB returns a list.
    items = value if path.has_wildcard else exp.Array(expressions=[value])
    unnested = exp.Select(expressions=[exp.alias_(call("unnest", call("mysql_json_numbered", items)), _ITEM_COLUMN, quoted=True)])
    rows = exp.Subquery(this=unnested, alias=exp.TableAlias(this=exp.to_identifier("json rows", quoted=True)))
    columns = [_column(definition) for definition in json_table.args["schema"].expressions]
    return exp.Subquery(this=exp.Select(expressions=columns, from_=exp.From(this=rows)), alias=table.args["alias"])


def _field(name: str) -> exp.Expr:
    """Return ``item`` or ``number`` of a row: the JSON value of the row, or the number of the row from 1."""
    return call("struct_extract", exp.Column(this=exp.to_identifier(_ITEM_COLUMN, quoted=True)), string_literal(name))


def _column(definition: exp.JSONColumnDef) -> exp.Expr:
    """Return the expression and name of a column. Raises InvalidStatement for syntax that is not supported."""
    name = definition.this
    if definition.args.get("ordinality"):
        return exp.Alias(this=_field("number"), alias=name)
    data_type, path = definition.args.get("kind"), definition.args.get("path")
    if not isinstance(data_type, exp.DataType) or path is None:
        raise InvalidStatement("a column of JSON_TABLE is written as: name type PATH '$.path', or name FOR ORDINALITY")
    column_path = path_of(path)
    value = call("json_extract", _field("item"), string_literal(column_path.duckdb_path), result_type=SqlType.JSON)
    if data_type.this is exp.DType.JSON:
        return exp.Alias(this=value, alias=name)
    string = with_type(call("json_extract_string", value, string_literal("$")), SqlType.STRING)
    return exp.Alias(this=build_cast(string, data_type), alias=name)

"""The table function JSON_TABLE: the rows of a JSON document."""

from sqlglot import exp

from dashwright.expressions.sql.casts import converted
from dashwright.expressions.sql.coercion import coerced
from dashwright.expressions.sql.duckdb_sql import call, macro, text
from dashwright.expressions.sql.functions.documents import path_of
from dashwright.expressions.sql.refusals import InvalidStatement
from dashwright.expressions.sql.sql_type import SqlType, marked

_ITEM, _PLACE = "json item", "json place"

MACROS = (macro("json_numbered(l)", "list_transform(coalesce(cast(l as json[]), []), lambda item, place: {'item': item, 'place': place})"),)


def rows_of(table: exp.Table, document: exp.JSONTable) -> exp.Expr:
    """Return a derived table in place of the JSON_TABLE. Raises InvalidStatement."""
    path = path_of(document.args["path"])
    if not table.alias:
        raise InvalidStatement("JSON_TABLE needs a name: JSON_TABLE(…) AS t")
    found = call("json_extract", coerced(document.this, SqlType.JSON), text(path.text))
    items = found if path.many else exp.Array(expressions=[found])
    unnested = exp.Select(expressions=[exp.alias_(call("unnest", call("mysql_json_numbered", items)), _ITEM, quoted=True)])
    inner = exp.Subquery(this=unnested, alias=exp.TableAlias(this=exp.to_identifier("json rows", quoted=True)))
    columns = [_column(definition) for definition in document.args["schema"].expressions]
    return exp.Subquery(this=exp.Select(expressions=columns, from_=exp.From(this=inner)), alias=table.args["alias"])


def _field(name: str) -> exp.Expr:
    return call("struct_extract", exp.Column(this=exp.to_identifier(_ITEM, quoted=True)), text(name))


def _column(definition: exp.JSONColumnDef) -> exp.Expr:
    name = definition.this
    if definition.args.get("ordinality"):
        return exp.Alias(this=_field("place"), alias=name)
    kind, path = definition.args.get("kind"), definition.args.get("path")
    if not isinstance(kind, exp.DataType) or path is None:
        raise InvalidStatement("a column of JSON_TABLE is written as: name type PATH '$.path', or name FOR ORDINALITY")
    where = path_of(path)
    value = call("json_extract", _field("item"), text(where.text), kind=SqlType.JSON)
    if kind.this is exp.DType.JSON:
        return exp.Alias(this=value, alias=name)
    plain = marked(call("json_extract_string", value, text("$")), SqlType.TEXT)
    return exp.Alias(this=converted(plain, kind), alias=name)

"""Queries for the options of variables, which data sources run with the rights of the caller."""

from collections.abc import Sequence
from typing import Final

import orjson

from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.catalog import Catalog
from dashwright.expressions.sources.privacy import visible_error
from dashwright.expressions.sources.registry import DataSource, SourceResolver
from dashwright.expressions.variables.builtin import range_values
from dashwright.expressions.variables.definitions import Definition
from dashwright.expressions.variables.intervals import automatic_interval
from dashwright.expressions.variables.kinds import OptionQuery
from dashwright.expressions.variables.option_cache import OptionCache, ValuesAndTexts
from dashwright.expressions.variables.references import query_format, resolve_reference
from dashwright.expressions.variables.scope import Scope
from dashwright.expressions.variables.values import Option

_REF_ID: Final = "variable"


def option_query(
    sources: SourceResolver, context: QueryContext, catalog: Catalog, time_range: TimeRange, limits: Limits, cache: OptionCache
) -> OptionQuery:
    """Return the function that queries data sources for the options of variables."""

    async def query_options(definition: Definition, scope: Scope) -> Sequence[Option]:
        reference = resolve_reference(definition.datasource, catalog, scope)
        if isinstance(reference, str):
            raise BadRequest(reference)
        query = SourceQuery.model_validate({"refId": _REF_ID, "datasource": reference})
        (data_source,) = await sources.find([query], context)
        if isinstance(data_source, DashwrightError):
            raise data_source
        interval = automatic_interval(time_range, None, None)
        text = scope.with_values(range_values(time_range, interval)).interpolate(definition.query_text, query_format(data_source.type))
        if not text.strip():
            if not isinstance(definition.query, dict) or not definition.query:
                raise BadRequest("its query is empty; write one in the settings of the variable")
            # Only the data source can interpret the members of its queries.
            text = orjson.dumps(scope.interpolate_tree(definition.query)).decode()
        try:
            values_and_texts = await _values_and_texts(data_source, text, time_range, limits, None if context.fresh else cache)
        except DashwrightError as error:
            raise visible_error(context, data_source.record, error) from error
        return [Option(value, text) for value, text in values_and_texts]

    return query_options


async def _values_and_texts(
    data_source: DataSource, text: str, time_range: TimeRange, limits: Limits, cache: OptionCache | None
) -> ValuesAndTexts:
    """Return the values and texts of options. The right to query the data source is checked before."""
    record = data_source.record
    if record is None or cache is None:
        return await data_source.source.variable_options(text, time_range, limits)
    # Rounded, because ranges such as now-6h differ by milliseconds between the panels of a page.
    bounds = [int(time.timestamp() // max(cache.seconds, 1)) for time in (time_range.start, time_range.end)]
    key = record.org_id, record.id, record.uid, record.version, text, *bounds
    return await cache.get(key, lambda: _run(data_source, text, time_range, limits))


async def _run(data_source: DataSource, text: str, time_range: TimeRange, limits: Limits) -> ValuesAndTexts:
    return await data_source.source.variable_options(text, time_range, limits)

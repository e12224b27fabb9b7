"""Kinds of variables: how each gets its options and its value. A new kind is one entry in ``KINDS``."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dashwright.common.conversion import choices
from dashwright.common.errors import NotFound
from dashwright.common.json_shapes import list_of, object_of, string_of
from dashwright.common.models.data_source_types import PROMETHEUS, TESTDATA
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.javascript.patterns import TextPattern
from dashwright.expressions.sources.catalog import Catalog, CatalogEntry, canonical_type
from dashwright.expressions.sources.prometheus.label_filters import LabelFilter
from dashwright.expressions.variables.ad_hoc import description_of, read_filters
from dashwright.expressions.variables.definitions import Definition
from dashwright.expressions.variables.intervals import automatic_interval
from dashwright.expressions.variables.options import MAX_OPTIONS, listed_options, queried_options
from dashwright.expressions.variables.references import resolve_reference
from dashwright.expressions.variables.scope import Scope
from dashwright.expressions.variables.selection import select
from dashwright.expressions.variables.values import Option, Value, text_of

_AUTO: Final = "$__auto"
#: The value of a data source variable for the default data source of its type.
_DEFAULT: Final = "default"

#: A function that returns the options that a data source has for a query variable. Its errors are DashwrightErrors.
OptionQuery = Callable[[Definition, Scope], Awaitable[Sequence[Option]]]


@dataclass(frozen=True, slots=True)
class KindContext:
    """The inputs on which the value of a variable depends."""

    scope: Scope  #: The variables that are resolved already.
    catalog: Catalog
    time_range: TimeRange
    from_url: Sequence[str] | None  #: The values in the URL, or None.
    query_options: OptionQuery


@dataclass(frozen=True, slots=True)
class ResolvedVariable:
    """The value of a variable."""

    value: Value
    options: Sequence[Option] = ()
    notice: str = ""  #: A notice about a limit or an ignored setting; empty without one.
    filters: Mapping[str, Sequence[LabelFilter]] = field(default_factory=dict)  #: The filters of queries, by the uid of the data source.


#: Returns the value of a variable of one kind. It raises a DashwrightError if there is no value.
Kind = Callable[[Definition, KindContext], Awaitable[ResolvedVariable]]


async def _query(definition: Definition, context: KindContext) -> ResolvedVariable:
    """Return the selection from the options that a data source returns."""
    if not definition.query_text.strip() and not object_of(definition.query) and definition.current.get("value"):
        # Programs that write dashboards leave out the query, and keep the value.
        return ResolvedVariable(saved_value(definition, context.from_url))
    pattern = context.scope.interpolate(string_of(definition.source.get("regex")), "regex")
    candidates = await context.query_options(definition, context.scope)
    order = _sort_order(definition.source.get("sort"))
    return _selected(definition, await asyncio.to_thread(queried_options, candidates, pattern, order), context)


def _sort_order(setting: Any) -> int:
    """Return the number of a sort order, which the schema with elements gives as a name; 0, no sorting, if it is invalid."""
    if isinstance(setting, str):
        return _SORT_ORDERS.get(setting, 0)
    return setting if isinstance(setting, int) else 0


async def _datasource(definition: Definition, context: KindContext) -> ResolvedVariable:
    """Return the selection from the data sources of a type whose names match a regular expression."""
    pattern = context.scope.interpolate(string_of(definition.source.get("regex")))
    source_type = definition.query_text
    entries = context.catalog.of_type(source_type)
    if pattern:
        entries = await asyncio.to_thread(_matching, entries, pattern)
    options = [Option(entry.uid, entry.name) for entry in entries]
    default = context.catalog.default(source_type)
    selected = context.from_url[0] if context.from_url else definition.current.get("value")
    if selected == _DEFAULT and default and not definition.is_multi:
        return ResolvedVariable(Value((_DEFAULT,), (_DEFAULT,), source_uid=default.uid), options)
    if source_type and not options and not selected and canonical_type(source_type) != TESTDATA.id:
        # Without a value, the default data source would receive queries in a language of another type.
        matching = " with a matching name" if pattern else ""
        raise NotFound(f"there is no data source of the type {source_type!r:.60}{matching} that you may query")
    return _selected(definition, options, context)


def _matching(entries: Sequence[CatalogEntry], pattern: str) -> list[CatalogEntry]:
    compiled = TextPattern.of(pattern)
    return [entry for entry in entries if compiled.search(entry.name)]


async def _custom(definition: Definition, context: KindContext) -> ResolvedVariable:
    return _selected(definition, listed_options(context.scope.interpolate(definition.query_text)) or definition.saved_options, context)


async def _interval(definition: Definition, context: KindContext) -> ResolvedVariable:
    """Return the selection from a list of intervals. *Auto* becomes an interval for the time range."""
    options = [option for option in listed_options(definition.query_text) if not option.value.startswith(_AUTO)]
    has_auto = definition.source.get("auto") is True
    if has_auto:
        options.append(Option(_AUTO, "auto"))
    # Grafana saves *auto* with the name of the variable.
    resolved = _selected(definition, options, context, aliases={f"{_AUTO}_interval_{definition.name}": _AUTO})
    if resolved.value.first != _AUTO:
        return resolved
    interval = automatic_interval(context.time_range, definition.source.get("auto_count"), definition.source.get("auto_min"))
    return replace(resolved, value=Value((interval,), ("auto",)))


async def _textbox(definition: Definition, context: KindContext) -> ResolvedVariable:
    saved = definition.current.get("value")
    text = saved if isinstance(saved, str) and saved else context.scope.interpolate(definition.query_text)
    return ResolvedVariable(_plain(context.from_url[0] if context.from_url else text))


async def _constant(definition: Definition, context: KindContext) -> ResolvedVariable:
    query, saved = definition.query_text, definition.current.get("value")
    return ResolvedVariable(replace(_plain(context.scope.interpolate(query or string_of(saved))), in_url=False))


async def _switch(definition: Definition, context: KindContext) -> ResolvedVariable:
    saved = definition.current.get("value")
    value = str(saved).lower() if isinstance(saved, bool) else string_of(saved)
    default = string_of(definition.source.get("disabledValue")) or "false"
    return ResolvedVariable(_plain(context.from_url[0] if context.from_url else value or default))


async def _adhoc(definition: Definition, context: KindContext) -> ResolvedVariable:
    """Return the filters, also as text. Only filters of data sources of the type Prometheus are added to queries."""
    filters = read_filters(definition, context.from_url)
    text = description_of(filters)
    value = Value((text,), (text,), in_url=False)
    if not filters:
        return ResolvedVariable(value)
    source = resolve_reference(definition.datasource, context.catalog, context.scope)
    if isinstance(source, dict) and canonical_type(source["type"]) == PROMETHEUS.id:
        unsupported = description_of([item for item in filters if not item.matcher])
        notice = f"the filters {unsupported} of ${definition.name} are not applied: Prometheus has no such operators" if unsupported else ""
        return ResolvedVariable(value, notice=notice, filters={source["uid"]: filters})
    reason = source if isinstance(source, str) else f"queries of the type {source['type']!r:.60} are not filtered"
    return ResolvedVariable(value, notice=f"the filters of ${definition.name} are not applied: {reason}")


async def _group_by(definition: Definition, context: KindContext) -> ResolvedVariable:
    multi = replace(definition, source={**definition.source, "multi": True})
    if context.from_url is not None:
        return ResolvedVariable(select(multi, (), context.from_url))
    saved = definition.current.get("value")
    values = [saved] if isinstance(saved, str) else list_of(saved)
    return ResolvedVariable(select(multi, [], [text_of(value) for value in values]))


def _selected(
    definition: Definition, options: Sequence[Option], context: KindContext, aliases: Mapping[str, str] | None = None
) -> ResolvedVariable:
    """Return the selection from the options, with the text that replaces *All*. ``aliases`` are other names of saved values."""
    notice = ""
    if len(options) > MAX_OPTIONS:
        notice = f"${definition.name} has {len(options)} options, of which the first {MAX_OPTIONS} are used"
        options = options[:MAX_OPTIONS]
    saved = definition.current.get("value")
    if aliases and isinstance(saved, str) and saved in aliases:
        definition = replace(definition, source={**definition.source, "current": aliases[saved]})
    value = select(definition, options, context.from_url)
    if value.is_all and definition.all_value:
        template = definition.all_value
        value = replace(value, custom_all=context.scope.interpolate(template), custom_all_template=template)
    return ResolvedVariable(value, options, notice)


def _plain(text: str) -> Value:
    return Value((text,), (text,))


#: The numbers of sort orders by their names in the schema with elements.
_SORT_ORDERS: Final[Mapping[str, int]] = choices.numbers(choices.VARIABLE_SORTS)

#: The kinds by their names in the classic schema.
KINDS: Final[Mapping[str, Kind]] = {
    "query": _query,
    "datasource": _datasource,
    "custom": _custom,
    "interval": _interval,
    "textbox": _textbox,
    "constant": _constant,
    "switch": _switch,
    "adhoc": _adhoc,
    "groupby": _group_by,
}


async def resolve_kind(definition: Definition, context: KindContext) -> ResolvedVariable:
    """Return the value of a variable. A variable of an unknown kind keeps its saved value. Raises a DashwrightError."""
    return await KINDS.get(definition.kind, _textbox)(definition, context)


def saved_value(definition: Definition, from_url: Sequence[str] | None) -> Value:
    """Return the value of a variable with unknown options: the value in the URL, or else the saved value."""
    saved: Any = definition.current.get("value")
    saved_items = saved if isinstance(saved, list) else [saved or ""]
    values = list(from_url) if from_url is not None else [text_of(item) for item in saved_items]
    value = select(definition, (), values)
    if value.is_all:
        # The options are unknown, so *All* is a regular expression that matches all of them.
        text_of_all = definition.all_value or ".*"
        return replace(value, custom_all=text_of_all, custom_all_template=text_of_all)
    return value

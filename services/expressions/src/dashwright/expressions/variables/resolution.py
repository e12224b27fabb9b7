"""Resolution of all variables of a dashboard that a picture needs, within a budget of time."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from time import monotonic
from typing import Any, Final

from dashwright.common.errors import DashwrightError, TooManyRequests
from dashwright.common.json_shapes import objects_of, string_of
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.catalog import Catalog
from dashwright.expressions.sources.prometheus.label_filters import LabelFilter
from dashwright.expressions.variables.definitions import Definition, read_definitions
from dashwright.expressions.variables.kinds import KindContext, OptionQuery, ResolvedVariable, resolve_kind, saved_value
from dashwright.expressions.variables.order import order_of
from dashwright.expressions.variables.scope import Scope, names_in
from dashwright.expressions.variables.values import Option, Value

#: The seconds that the queries of all variables may take.
BUDGET_SECONDS: Final = 8.0
#: The number of queries that run concurrently.
_CONCURRENT: Final = 4
#: The maximum length of all values of a variable.
_MAX_CHARACTERS: Final = 100_000
#: The number of variables that a message names.
_MAX_NAMES: Final = 5
#: The maximum number of inputs of a shared dashboard that are read.
_MAX_INPUTS: Final = 100


@dataclass(frozen=True, slots=True)
class Resolution:
    """The variables of a dashboard with their values."""

    scope: Scope
    options: Mapping[str, Sequence[Option]] = field(default_factory=dict)
    notices: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ResolutionContext:
    """The inputs of the resolution of variables, apart from the dashboard."""

    catalog: Catalog
    time_range: TimeRange
    builtin: Mapping[str, Value]
    from_url: Mapping[str, Sequence[str]]
    query_options: OptionQuery
    zone: tzinfo = UTC
    seconds: float = BUDGET_SECONDS


async def resolve(spec: Mapping[str, Any], used: Iterable[str], context: ResolutionContext) -> Resolution:
    """Return the values of the variables with the names ``used``, and of those that they refer to.

    A variable that fails keeps the value of the URL, or its saved one, and has a problem in the scope.
    """
    definitions = read_definitions(spec)
    # No text refers to ad hoc filters, which are added to queries.
    order = order_of(definitions, {*used, *(name for name, definition in definitions.items() if definition.kind == "adhoc")})
    scope = Scope({**_input_values(spec, context.catalog), **context.builtin}, zone=context.zone)
    scope = scope.with_values({name: saved_value(definitions[name], context.from_url.get(name)) for name in order.circular})
    resolver = _Resolver(context, monotonic() + context.seconds)
    options: dict[str, Sequence[Option]] = {}
    reasons: dict[str, str] = {}
    too_long: dict[str, str] = {}
    notices: list[str] = []
    filters: dict[str, list[LabelFilter]] = {}
    if order.circular:
        notices.append(f"{_listed(order.circular)} refer to each other in a circle, so each has its saved value")
    for group in order.groups:
        missing_sources = {name: reason for name, reason in reasons.items() if definitions[name].kind == "datasource"}
        outcomes = await asyncio.gather(*(resolver.resolve(definitions[name], scope, missing_sources) for name in group))
        for name, (resolved, reason) in zip(group, outcomes, strict=True):
            options[name] = resolved.options
            length = sum(map(len, resolved.value.values))
            if length > _MAX_CHARACTERS and resolved.value.custom_all is None:
                too_long[name] = f"the values of ${name} have {length} characters, more than {_MAX_CHARACTERS}; select fewer"
            if reason:
                reasons[name] = reason
            for uid, added in resolved.filters.items():
                filters.setdefault(uid, []).extend(added)
            if resolved.notice:
                notices.append(resolved.notice)
        scope = scope.with_values({name: resolved.value for name, (resolved, _) in zip(group, outcomes, strict=True)})
    # Variables that only a URL sets have no definition.
    undefined = {name: Value.of(list(values) if len(values) > 1 else values[0]) for name, values in context.from_url.items() if values}
    scope = scope.with_values({name: value for name, value in undefined.items() if name not in definitions and name not in scope.values})
    return Resolution(replace(scope, problems={**_problems(reasons), **too_long}, filters=filters), options, notices)


class _Resolver:
    """A resolver of single variables, with a common limit of time."""

    def __init__(self, context: ResolutionContext, end: float) -> None:
        self._context = context
        self._end = end
        self._slots = asyncio.Semaphore(_CONCURRENT)

    async def resolve(self, definition: Definition, scope: Scope, missing_sources: Mapping[str, str]) -> tuple[ResolvedVariable, str]:
        """Return the value of a variable, and the reason if its options could not be read, so that its saved value is used.

        ``missing_sources`` has, by name, the reason why a variable of the kind ``datasource`` has no data source. A variable that
        refers to it fails for the same reason.
        """
        from_url = self._context.from_url.get(definition.name)
        for name in names_in(definition.datasource):
            if name in missing_sources:
                return ResolvedVariable(saved_value(definition, from_url)), missing_sources[name]
        context = KindContext(scope, self._context.catalog, self._context.time_range, from_url, self._query_options)
        try:
            return await resolve_kind(definition, context), ""
        except TooManyRequests:
            # The worker is busy: the request is refused, so that the client can try again.
            raise
        except DashwrightError as error:
            return ResolvedVariable(saved_value(definition, from_url)), error.message
        except TimeoutError:
            reason = f"the queries of variables take longer than {self._context.seconds:g} s"
            return ResolvedVariable(saved_value(definition, from_url)), reason

    async def _query_options(self, definition: Definition, scope: Scope) -> Sequence[Option]:
        # The wait for a slot is part of the budget of time.
        async with asyncio.timeout(max(0.0, self._end - monotonic())), self._slots:
            return await self._context.query_options(definition, scope)


def _problems(reasons: Mapping[str, str]) -> dict[str, str]:
    """Return the problem of each variable without options. Variables with the same reason have one problem, which names them all."""
    names: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names.setdefault(reason, []).append(name)
    sentences = {
        reason: f"{_listed(variable_names)} {'has' if len(variable_names) == 1 else 'have'} no options: {reason}"
        for reason, variable_names in names.items()
    }
    return {name: sentences[reason] for name, reason in reasons.items()}


def _listed(names: Sequence[str]) -> str:
    listed_names = ", ".join(f"${name}" for name in names[:_MAX_NAMES])
    return listed_names if len(names) <= _MAX_NAMES else f"{listed_names} and {len(names) - _MAX_NAMES} more"


def _input_values(spec: Mapping[str, Any], catalog: Catalog) -> dict[str, Value]:
    """Return the values of the inputs of a shared dashboard (``__inputs``): the default data source of a type, or a constant."""
    values = {}
    for item in objects_of(spec.get("__inputs"))[:_MAX_INPUTS]:
        name, kind = string_of(item.get("name")), string_of(item.get("type"))
        entry = catalog.default(string_of(item.get("pluginId"))) if kind == "datasource" else None
        value = entry.uid if entry else string_of(item.get("value"))
        if name and (entry or kind == "constant"):
            values[name] = Value((value,), (entry.name if entry else value,))
    return values

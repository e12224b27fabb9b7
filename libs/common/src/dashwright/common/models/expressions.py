"""Queries of a panel: the six types of expressions (targets), and the data source queries in the same request.

Targets are strict: an unknown property, an unknown enum value or a wrong type is an error. ``/api/ds/query`` ignores some further
properties that saved panels contain; the end of this module lists them.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from dashwright.common.models.api_model import ApiModel

ReducerName = Literal["sum", "mean", "min", "max", "count", "last", "median"]
#: The ``expression`` of a target: a refId, a formula or an SQL statement. Its meaning depends on the type of the target.
Reference = Annotated[str, Field(min_length=1)]
Comparison = Literal[
    "gt", "lt", "eq", "ne", "gte", "lte", "within_range", "outside_range", "within_range_included", "outside_range_included"
]
FrameType = Literal[
    "",
    "timeseries-wide",
    "timeseries-long",
    "timeseries-many",
    "timeseries-multi",
    "directory-listing",
    "table",
    "numeric-wide",
    "numeric-multi",
    "numeric-long",
    "log-lines",
]


class StrictShape(ApiModel):
    """Model that rejects unknown properties, even if they are null. A known property that is null counts as missing."""

    model_config = ConfigDict(extra="forbid", populate_by_name=False)


class ExpressionDatasource(StrictShape):
    """Data source of an expression."""

    type: Annotated[str, Field(pattern=r"^__expr__$")]
    uid: str | None = None
    api_version: str | None = None


class ResultAssertions(StrictShape):
    """Assertions about the result of a query. A failed assertion is an error of the query's refId."""

    type: FrameType | None = None
    type_version: Annotated[list[int], Field(min_length=2, max_length=2)]
    max_frames: int | None = None


class TargetTimeRange(StrictShape):
    """Time range of one target."""

    from_: str = Field("now-6h", alias="from")
    to: str = "now"


class TargetShape(StrictShape):
    """Properties of every expression target."""

    ref_id: Annotated[str, Field(min_length=1)]
    datasource: ExpressionDatasource | None = None
    hide: bool | None = None
    query_type: str | None = None
    result_assertions: ResultAssertions | None = None
    time_range: TargetTimeRange | None = None


class MathTarget(TargetShape):
    """Target ``math``."""

    type: Literal["math"]
    expression: Reference


#: ``ReduceSettings._check_value`` as JSON Schema.
_VALUE_BY_MODE_SCHEMA: list[JsonValue] = [
    {"properties": {"mode": {"enum": ["dropNN"]}, "replaceWithValue": {"type": "null"}}},
    {"properties": {"mode": {"enum": ["replaceNN"]}, "replaceWithValue": {"type": "number"}}, "required": ["replaceWithValue"]},
]


class ReduceSettings(StrictShape):
    """Handling of null, NaN and infinite values."""

    model_config = ConfigDict(json_schema_extra={"oneOf": _VALUE_BY_MODE_SCHEMA})

    mode: Literal["dropNN", "replaceNN"]
    replace_with_value: float | None = None

    @model_validator(mode="after")
    def _check_value(self) -> Self:
        """Raise ValueError if the mode ``replaceNN`` lacks a value, or if another mode has one."""
        if self.mode == "replaceNN" and self.replace_with_value is None:
            raise ValueError("setting replaceWithValue must be specified when mode is 'replaceNN'")
        if self.mode == "dropNN" and self.replace_with_value is not None:
            raise ValueError("setting replaceWithValue is valid only when mode is 'replaceNN'; leave it out")
        return self


class ReduceTarget(TargetShape):
    """Target ``reduce``."""

    type: Literal["reduce"]
    expression: Reference
    reducer: ReducerName
    settings: ReduceSettings | None = None


class ResampleTarget(TargetShape):
    """Target ``resample``."""

    type: Literal["resample"]
    expression: Reference
    window: Annotated[str, Field(min_length=1)]
    downsampler: ReducerName
    upsampler: Literal["pad", "backfilling", "fillna"]


class ClassicEvaluator(StrictShape):
    """Evaluator of a classic condition."""

    params: list[float]
    type: str


class ClassicOperator(StrictShape):
    """Operator that combines a classic condition with the conditions before it."""

    type: Literal["and", "or", "logic-or"]


class ClassicQuery(StrictShape):
    """Query of a classic condition."""

    params: list[str]


class ClassicReducer(StrictShape):
    """Reducer of a classic condition."""

    type: str


class ClassicCondition(StrictShape):
    """One classic condition."""

    evaluator: ClassicEvaluator
    operator: ClassicOperator
    query: ClassicQuery
    reducer: ClassicReducer


class ClassicConditionsTarget(TargetShape):
    """Target ``classic_conditions``."""

    type: Literal["classic_conditions"]
    conditions: list[ClassicCondition]


class ThresholdEvaluator(StrictShape):
    """Evaluator of a threshold."""

    params: list[float]
    type: Comparison


class ThresholdCondition(StrictShape):
    """Condition of a threshold."""

    evaluator: ThresholdEvaluator
    unload_evaluator: ThresholdEvaluator | None = None
    loaded_dimensions: dict[str, Any] | None = None


class ThresholdTarget(TargetShape):
    """Target ``threshold``."""

    type: Literal["threshold"]
    expression: Reference
    conditions: list[ThresholdCondition]


class SqlTarget(TargetShape):
    """Target ``sql``."""

    type: Literal["sql"]
    expression: Reference


class FormattedSqlTarget(SqlTarget):
    """Target ``sql`` of ``/api/ds/query``, which has a ``format``.

    An empty statement is accepted here, because it is an error of its refId rather than of the request.
    """

    expression: str
    format: Literal["", "table", "alerting"] = ""


Target = MathTarget | ReduceTarget | ResampleTarget | ClassicConditionsTarget | ThresholdTarget | SqlTarget

#: The six targets by their ``type``.
TARGETS: dict[str, type[Target]] = {
    "math": MathTarget,
    "reduce": ReduceTarget,
    "resample": ResampleTarget,
    "classic_conditions": ClassicConditionsTarget,
    "threshold": ThresholdTarget,
    "sql": SqlTarget,
}


class SourceRef(ApiModel):
    """Data source of a query that is not an expression."""

    type: str = ""
    uid: str = ""


class SourceQuery(ApiModel):
    """Data source query. Further properties belong to the data source and are passed on unchanged."""

    model_config = ConfigDict(extra="allow", populate_by_name=False)

    ref_id: Annotated[str, Field(min_length=1)]
    datasource: SourceRef
    hide: bool = False
    query_type: str = ""
    interval_ms: float | None = None
    max_data_points: float | None = None
    result_assertions: ResultAssertions | None = None
    time_range: TargetTimeRange | None = None


#: Properties that ``/api/ds/query`` ignores in targets of every type.
WITHOUT_EFFECT = frozenset({"intervalMs", "maxDataPoints", "datasourceId"})

#: Properties of the six target types. ``/api/ds/query`` ignores a property that belongs to another type.
VARIANT_PROPERTIES = frozenset({"expression", "reducer", "settings", "window", "downsampler", "upsampler", "conditions"})

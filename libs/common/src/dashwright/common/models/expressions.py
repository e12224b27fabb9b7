"""Expression queries: the six targets of a panel, and the data source queries in the same request.

Targets are strict: an unlisted property, a value outside an enum or a wrong type is refused. Other properties that saved panels
contain are ignored by ``/api/ds/query``; the end of this module lists them.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from dashwright.common.models.shape import Shape

ReducerName = Literal["sum", "mean", "min", "max", "count", "last", "median"]
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


class StrictShape(Shape):
    """A model that rejects unlisted properties, even if they are null."""

    model_config = ConfigDict(extra="forbid", populate_by_name=False)

    @model_validator(mode="before")
    @classmethod
    def _null_is_missing(cls, value: Any) -> Any:
        if not isinstance(value, dict) or None not in value.values():
            return value
        listed = {field.alias for field in cls.model_fields.values()}
        return {key: item for key, item in value.items() if item is not None or key not in listed}


class ExpressionDatasource(StrictShape):
    """Data source of an expression."""

    type: Annotated[str, Field(pattern=r"^__expr__$")]
    uid: str | None = None
    api_version: str | None = None


class ResultAssertions(StrictShape):
    """Assertions about the result of a query; a failed one is an error of its refId."""

    type: FrameType | None = None
    type_version: Annotated[list[int], Field(min_length=2, max_length=2)]
    max_frames: int | None = None


class TargetTimeRange(StrictShape):
    """Time range of one target."""

    from_: str = Field("now-6h", alias="from")
    to: str = "now"


class TargetShape(StrictShape):
    """Members of every expression target."""

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


#: The rule of ``ReduceSettings._value_fits_mode`` as JSON Schema.
_FITTING_VALUE: list[JsonValue] = [
    {"properties": {"mode": {"enum": ["dropNN"]}, "replaceWithValue": {"type": "null"}}},
    {"properties": {"mode": {"enum": ["replaceNN"]}, "replaceWithValue": {"type": "number"}}, "required": ["replaceWithValue"]},
]


class ReduceSettings(StrictShape):
    """Handling of null, NaN and infinite values."""

    model_config = ConfigDict(json_schema_extra={"oneOf": _FITTING_VALUE})

    mode: Literal["dropNN", "replaceNN"]
    replace_with_value: float | None = None

    @model_validator(mode="after")
    def _value_fits_mode(self) -> Self:
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
    """Operator that joins a classic condition to those before it."""

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
    """Target ``sql`` of ``/api/ds/query``, which has a ``format``. An empty statement is an error of its refId, not of the request."""

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


class SourceRef(Shape):
    """Data source of a query that is not an expression."""

    type: str = ""
    uid: str = ""


class SourceQuery(Shape):
    """A data source query. Its other properties belong to the data source and are kept as sent."""

    model_config = ConfigDict(extra="allow", populate_by_name=False)

    ref_id: Annotated[str, Field(min_length=1)]
    datasource: SourceRef
    hide: bool = False
    query_type: str = ""
    interval_ms: float | None = None
    max_data_points: float | None = None
    result_assertions: ResultAssertions | None = None
    time_range: TargetTimeRange | None = None


#: Properties that ``/api/ds/query`` ignores on any expression target.
WITHOUT_EFFECT = frozenset({"intervalMs", "maxDataPoints", "datasourceId"})

#: Properties of the six target types. ``/api/ds/query`` ignores a property that belongs to another type.
VARIANT_PROPERTIES = frozenset({"expression", "reducer", "settings", "window", "downsampler", "upsampler", "conditions"})

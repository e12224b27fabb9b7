"""Wire models of requests for the evaluation of queries and panels, and of the results."""

from typing import Any

from pydantic import ConfigDict, Field

from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.expressions import SourceQuery, Target
from dashwright.common.models.library_panel import DataSourceRef

_FROM = "The start of the time range: date math such as now-6h (the default), Unix milliseconds, or an ISO 8601 time"
_TO = "The end of the time range, in the same formats; now by default"


class Query(ApiModel):
    """A query of a data source, or an expression over other queries. Further members depend on the type of the data source."""

    model_config = ConfigDict(extra="allow")

    ref_id: str = Field(description="The name of the query within the request, by which expressions refer to it")
    datasource: DataSourceRef | None = Field(default=None, description="The data source; for an expression its type and uid are __expr__")
    type: str | None = Field(default=None, description="For an expression: math, reduce, resample, classic_conditions, threshold or sql")
    expression: str | None = Field(default=None, description="For an expression: the formula, such as $A + $B")
    hide: bool | None = Field(default=None, description="Whether to leave the result out of the response; other queries may still use it")
    query_type: str | None = Field(default=None, description="The kind of query, for data sources that have several")
    interval_ms: float | None = Field(default=None, description="The suitable interval between points, in milliseconds")
    max_data_points: float | None = Field(default=None, description="The largest useful number of points in a series")


class QueryRequest(ApiModel):
    """Queries and expressions over a time range."""

    queries: list[Query] = Field(description="The queries and expressions, each with a refId of its own")
    from_: str | int | None = Field(default=None, alias="from", description=_FROM)
    to: str | int | None = Field(default=None, description=_TO)


class Panel(ApiModel):
    """A panel with expression targets. Further members of the panel have no effect on the evaluation."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="The type of the panel")
    targets: list[Target | SourceQuery] = Field(description="The expressions and queries of the panel")
    queries: list[Target | SourceQuery] | None = Field(default=None, description="Ordinary queries, in addition to the targets")
    transformations: list[dict[str, Any]] | None = Field(
        default=None, description="Applied in order if the request asks for transform: id, options, filter, disabled and topic"
    )
    from_: str | int | None = Field(default=None, alias="from", description=_FROM)
    to: str | int | None = Field(default=None, description=_TO)


class FrameFieldType(ApiModel):
    """The type of the values of a field."""

    frame: str = Field(description="The exact type, such as float64, int64, string, bool or time.Time")
    nullable: bool | None = Field(default=None, description="Whether values may be null")


class FrameField(ApiModel):
    """A column of a frame."""

    name: str | None = Field(default=None, description="The name of the field")
    type: str = Field(description="The kind of values: time, number, string, boolean, enum or other")
    type_info: FrameFieldType = Field(description="The exact type of the values")
    labels: dict[str, str] | None = Field(default=None, description="The labels of the series")
    config: dict[str, Any] | None = Field(default=None, description="How the field is shown: name, unit, thresholds and the like")


class FrameSchema(ApiModel):
    """The columns of a frame."""

    name: str | None = Field(default=None, description="The name of the frame")
    ref_id: str | None = Field(default=None, description="The query that the frame is a result of")
    meta: dict[str, Any] | None = Field(default=None, description="Metadata of the frame: type, typeVersion, notices")
    fields_: list[FrameField] = Field(alias="fields", description="The fields")


class FrameEntities(ApiModel):
    """The indexes of rows of a field whose values JSON cannot represent. These values are null in ``values``."""

    nan: list[int] | None = Field(default=None, alias="NaN", description="Rows that are not a number")
    inf: list[int] | None = Field(default=None, alias="Inf", description="Rows that are infinite")
    neg_inf: list[int] | None = Field(default=None, alias="NegInf", description="Rows that are negatively infinite")


class FrameData(ApiModel):
    """The values of a frame, by field."""

    values: list[list[Any]] = Field(description="One list of values for each field; times are Unix milliseconds")
    entities: list[FrameEntities | None] | None = Field(
        default=None, description="Values that JSON cannot represent, such as NaN, one entry for each field"
    )
    nanos: list[list[int] | None] | None = Field(default=None, description="The nanoseconds below a millisecond, one entry for each field")


class Frame(ApiModel):
    """A table of values by columns."""

    schema_: FrameSchema = Field(alias="schema", description="The columns")
    data: FrameData = Field(description="The values")


class QueryResult(ApiModel):
    """The result of one query."""

    status: int = Field(description="200, or the HTTP status of the error")
    frames: list[Frame] = Field(description="The frames")
    error: str | None = Field(default=None, description="The error message")
    error_source: str | None = Field(default=None, description="The origin of the error; downstream is the data source")


class QueryNotice(ApiModel):
    """A notice about a result."""

    severity: str = Field(description="info, warning or error")
    text: str = Field(description="The message")


class TransformedFrames(ApiModel):
    """The frames of a panel after its transformations."""

    frames: list[Frame] = Field(description="The frames; none if a transformation failed")
    error: str | None = Field(default=None, description="The error message")
    error_source: str | None = Field(default=None, description="The origin of the error")
    status: int | None = Field(default=None, description="The HTTP status of the error")
    notices: list[QueryNotice] | None = Field(default=None, description="What was left out, such as transformations that are not supported")


class QueryMeta(ApiModel):
    """Information about the evaluation."""

    explain: dict[str, Any] = Field(description="How the results were calculated: order, inputs, outputs and durations by refId")


class QueryResults(ApiModel):
    """The results by refId, without those of hidden queries."""

    results: dict[str, QueryResult] = Field(description="The results, by refId")
    message: str | None = Field(default=None, description="The errors of all queries, in one string")
    transformed: TransformedFrames | None = Field(default=None, description="Present if the request asks for transform")
    meta: QueryMeta | None = Field(default=None, description="Present if the request asks for explain")


class PanelFault(ApiModel):
    """An error in a request, and its location."""

    pointer: str = Field(description="The location of the fault, as a JSON pointer")
    message: str = Field(description="The fault and how to correct it")
    position: int | None = Field(default=None, description="The character of the expression, counted from 1")
    caret: str | None = Field(default=None, description="The expression with a caret below the character")


class QueryRefusal(ApiModel):
    """The response to an invalid request. None of its queries was evaluated."""

    message: str = Field(description="The fault and how to correct it")
    message_id: str | None = Field(default=None, description="The kind of the fault, for programs")
    status_code: int | None = Field(default=None, description="The HTTP status of the response")
    trace_id: str | None = Field(default=None, alias="traceID", description="The id of the request in the server's log")
    faults: list[PanelFault] | None = Field(default=None, description="Every fault of the request's shape")


class PanelValidation(ApiModel):
    """The result of a validation of a panel."""

    valid: bool = Field(description="Whether the panel has no faults")
    faults: list[PanelFault] = Field(description="Every fault of the panel")

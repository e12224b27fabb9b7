"""Evaluations: a panel evaluated as a job (``expressions.dashwright.io/v0alpha1``). Its status is a JobStatus."""

from typing import Any

from pydantic import Field

from dashwright.common.models.api_model import ApiModel


class EvaluationSpec(ApiModel):
    """Panel to evaluate: ``panel`` as ``/api/panels/query`` accepts it, with ordinary queries and the time range next to it."""

    panel: dict[str, Any] = Field(description="The panel, as /api/panels/query accepts it")
    queries: list[dict[str, Any]] | None = Field(
        default=None, description="Queries of data sources, in addition to the targets of the panel"
    )
    from_: str | int | None = Field(
        default=None, alias="from", description="The start of the time range, such as now-6h or Unix milliseconds"
    )
    to: str | int | None = Field(default=None, description="The end of the time range")


def panel_request(spec: EvaluationSpec) -> dict[str, Any]:
    """Return the body of ``/api/panels/query`` for an evaluation. Members next to the panel override the panel's own."""
    return {**spec.panel, **spec.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"panel"})}

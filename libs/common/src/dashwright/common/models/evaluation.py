"""Evaluations: a panel evaluated as a job (``expressions.dashwright.io/v0alpha1``). Its status is a JobStatus."""

from typing import Any

from pydantic import Field

from dashwright.common.models.shape import Shape


class EvaluationSpec(Shape):
    """Panel to evaluate: ``panel`` as ``/api/panels/query`` accepts it, with ordinary queries and the time range next to it."""

    panel: dict[str, Any] = Field(description="The panel, as /api/panels/query takes it")
    queries: list[dict[str, Any]] | None = Field(default=None, description="Ordinary queries next to the targets of the panel")
    from_: str | int | None = Field(
        default=None, alias="from", description="Where the time range begins, such as now-6h or Unix milliseconds"
    )
    to: str | int | None = Field(default=None, description="Where the time range ends")


def panel_request(spec: EvaluationSpec) -> dict[str, Any]:
    """Return the body of ``/api/panels/query`` for an evaluation. Members next to the panel override the panel's own."""
    return {**spec.panel, **spec.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"panel"})}

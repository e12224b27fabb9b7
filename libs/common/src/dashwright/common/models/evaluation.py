"""Evaluations: a panel evaluated as a job (``expressions.dashwright.io/v0alpha1``). Its status is a JobStatus."""

from typing import Any

from pydantic import Field

from dashwright.common.models.shape import Shape


class EvaluationSpec(Shape):
    """``panel`` as ``/api/panels/query`` takes it, with the ordinary queries beside its targets and the time range."""

    panel: dict[str, Any]
    queries: list[dict[str, Any]] | None = None
    from_: str | int | None = Field(default=None, alias="from")
    to: str | int | None = None

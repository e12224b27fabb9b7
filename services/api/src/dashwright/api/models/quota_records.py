"""Quotas as they are listed, and the body that sets a limit. Unlike most of the interface they are written in snake_case."""

from typing import Annotated

from pydantic import ConfigDict, Field

from dashwright.api.models.response import ResponseModel
from dashwright.common.models.classic import ClassicBody


class QuotaRecord(ResponseModel):
    """One of the two ids is there: whose quota it is. ``limit`` -1 is none."""

    model_config = ConfigDict(alias_generator=None)

    org_id: int = Field(default_factory=int)
    user_id: int = Field(default_factory=int)
    target: str
    limit: int
    used: int


class QuotaLimit(ClassicBody):
    """Any negative limit is none. Whose and of what it is stands in the path."""

    limit: Annotated[int, Field(ge=-(2**63), lt=2**63)]

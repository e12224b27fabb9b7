"""Items in lists of quotas, and the body that sets a limit.

Unlike in most of the API, the field names are in snake_case.
"""

from pydantic import ConfigDict, Field

from dashwright.api.models.response import ResponseModel
from dashwright.common.models.api_model import Integer64
from dashwright.common.models.classic import ClassicBody


class QuotaRecord(ResponseModel):
    """A quota and its current usage. Its owner is either ``org_id`` or ``user_id``."""

    model_config = ConfigDict(alias_generator=None)

    org_id: int = Field(default_factory=int)
    user_id: int = Field(default_factory=int)
    target: str
    #: -1: unlimited.
    limit: int
    used: int


class QuotaLimit(ClassicBody):
    """A new limit of the quota whose owner and target are in the path."""

    #: Any negative number: unlimited.
    limit: Integer64

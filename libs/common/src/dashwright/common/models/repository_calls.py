"""What the gateway asks the jobs worker of a repository, which alone reads folders and talks to git hosts."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from dashwright.common.models.provisioning import RepositorySpec
from dashwright.common.models.shape import Shape


class TrialRequest(Shape):
    """Whether a configuration can be read; the answer is a TrialAnswer. Its token is sealed for a repository of this name."""

    call: Literal["trial"] = "trial"
    namespace: str
    name: str
    spec: RepositorySpec


class TrialAnswer(Shape):
    """``field`` is what is wrong, and ``message`` says how; neither where all is well."""

    field: str | None = None
    message: str | None = None


class RefsRequest(Shape):
    """Which branches the host of a stored repository has; the answer is a RefList."""

    call: Literal["refs"] = "refs"
    namespace: str
    name: str


class HistoryRequest(Shape):
    """Which commits a stored repository has, or those that touch a path; the answer is a HistoryList.

    ``ref`` is a branch or a commit, empty for the repository's own branch.
    """

    call: Literal["history"] = "history"
    namespace: str
    name: str
    path: str = ""
    ref: str = ""


RepositoryRequest: TypeAlias = Annotated[TrialRequest | RefsRequest | HistoryRequest, Field(discriminator="call")]

"""What the gateway asks the jobs worker of a repository, which alone reads folders and talks to git hosts."""

from dashwright.common.models.provisioning import RepositorySpec
from dashwright.common.models.shape import Shape


class TrialRequest(Shape):
    """Whether a configuration can be read; the answer is a TrialAnswer. Its token is sealed for a repository of this name."""

    namespace: str
    name: str
    spec: RepositorySpec


class TrialAnswer(Shape):
    """``field`` is what is wrong, and ``message`` says how; neither where all is well."""

    field: str | None = None
    message: str | None = None

"""Request of the gateway to the jobs worker about the health of a repository. The response is a HealthStatus."""

from dashwright.common.models.shape import Shape


class ProbeRequest(Shape):
    """Repository to probe."""

    namespace: str
    name: str

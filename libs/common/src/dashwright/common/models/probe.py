"""What the gateway asks the jobs worker about a repository; the answer is a HealthStatus."""

from dashwright.common.models.shape import Shape


class ProbeRequest(Shape):
    namespace: str
    name: str

"""Request of the gateway to the jobs worker about the health of a repository. The response is a HealthStatus."""

from dashwright.common.models.api_model import ApiModel


class ProbeRequest(ApiModel):
    """Repository to probe."""

    namespace: str
    name: str

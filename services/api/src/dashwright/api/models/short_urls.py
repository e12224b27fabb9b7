"""Short URLs as the classic API returns them."""

from dashwright.common.models.api_model import ApiModel


class ShortUrlCreated(ApiModel):
    """A short URL."""

    uid: str
    #: The complete address, which redirects to the path.
    url: str

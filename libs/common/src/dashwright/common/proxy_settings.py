"""Declaration of the settings of the proxy to data sources."""

from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings

from dashwright.common.setting_field import Positive, Seconds, setting


class ProxySettingsFields(BaseSettings):
    """Settings of the proxy to data sources."""

    proxy_max_bytes: Positive = setting(
        100 * 1024 * 1024, "maximum size of a response of a data source that the proxy forwards, in bytes as sent", "api"
    )
    proxy_seconds: Seconds = setting(300, "maximum duration of a proxied request with its response, in seconds", "api")
    proxy_streams: Annotated[int, Field(gt=1, le=10_000)] = setting(
        128,
        "maximum number of concurrent proxied requests of one gateway; a quarter is reserved for organizations without one, "
        "and one caller may have half",
        "api",
    )

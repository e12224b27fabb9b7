"""Declaration of the settings of snapshots and other small objects of users."""

from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings

from dashwright.common.setting_field import Days, Positive, setting

_Count = Annotated[int, Field(ge=0)]


class SmallObjectSettingsFields(BaseSettings):
    """Settings of snapshots and other small objects of users."""

    snapshots: _Count = setting(
        1000,
        "maximum number of stored [snapshots](classic.md#snapshots) of one organization, of at most 5 MiB each; a further one is "
        "refused with 403. `0` disables snapshots",
        "api",
    )
    playlists: Positive = setting(1000, "maximum number of playlists of one organization; a further one is refused with 403", "api")
    short_urls: Positive = setting(10_000, "maximum number of short URLs of one organization; a further one is refused with 403", "api")
    short_url_days: Days = setting(90, "days after their last use at which short URLs are deleted; `0` keeps them", "api")
    query_history: Positive = setting(
        1000, "number of entries that the query history of a user keeps; older ones are deleted, those with a star last", "api"
    )
    query_history_days: Days = setting(
        14, "days after which entries without a star are deleted from query histories; `0` keeps them", "api"
    )

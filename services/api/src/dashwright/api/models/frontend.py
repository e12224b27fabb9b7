"""Responses to the first requests of clients: versions, enabled features, and data sources."""

from typing import Any

from pydantic import Field

from dashwright.common.models.api_model import ApiModel


class HealthResponse(ApiModel):
    """The availability of the database, and the version of the API."""

    commit: str = Field(description="The commit that the server was built from, if known")
    database: str = Field(description="ok or failing")
    version: str = Field(description="The version that clients parse")


class BuildInfo(ApiModel):
    """The version of the API, as existing clients read it."""

    version: str = Field(description="The version that clients parse")
    commit: str = Field(description="The commit that the server was built from, if known")
    commit_short: str = Field(description="The first ten digits of the commit")
    buildstamp: int = Field(description="Always 0")
    edition: str = Field(description="The edition that clients parse")
    env: str = Field(description="Always production")
    has_update: bool = Field(description="Always false")
    hide_version: bool = Field(description="Always false")
    latest_version: str = Field(description="Always empty")
    version_string: str = Field(description="The version as a string for display")


class QuotaSettings(ApiModel):
    """The settings of quotas."""

    enabled: bool = Field(description="Whether quotas are enforced")


class FrontendDataSource(ApiModel):
    """A data source that the caller may query or read."""

    id: int = Field(description="The id of the data source")
    uid: str = Field(description="The uid of the data source")
    type: str = Field(description="The type of the data source")
    name: str = Field(description="The name of the data source")
    url: str = Field(description="The address for clients")
    is_default: bool = Field(description="Whether queries without a data source use it")
    access: str = Field(description="proxy or direct")
    json_data: dict[str, Any] = Field(description="Options, as the type of the data source defines them")
    read_only: bool = Field(description="Always false")


class FrontendSettings(ApiModel):
    """The settings that clients request before anything else."""

    build_info: BuildInfo = Field(description="The version of the API")
    quota: QuotaSettings = Field(description="Whether quotas are enforced")
    anonymous_enabled: bool = Field(description="Always false")
    feature_toggles: dict[str, bool] = Field(description="The enabled features")
    app_sub_url: str = Field(description="Always empty")
    license_info: dict[str, Any] = Field(description="Always empty")
    datasources: dict[str, FrontendDataSource] = Field(description="The data sources, by name")
    default_datasource: str = Field(description="The name of the default data source, empty if no default is set")
    namespace: str = Field(description="The namespace of the current organization")


class BootSettings(ApiModel):
    """The settings that a client starts with."""

    namespace: str = Field(description="The namespace of the first organization")


class BootData(ApiModel):
    """The data that a client starts with."""

    settings: BootSettings = Field(description="The settings")

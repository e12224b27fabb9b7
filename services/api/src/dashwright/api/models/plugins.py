"""Built-in types of data sources and panels, in the form in which Grafana lists its plugins."""

from typing import Literal

from pydantic import Field

from dashwright.common.models.api_model import ApiModel


class PluginAuthor(ApiModel):
    """The author of a built-in type."""

    name: str = "Dashwright"
    url: str = ""


class PluginLink(ApiModel):
    """A link to a page about a built-in type."""

    name: str
    url: str


class PluginLogos(ApiModel):
    """The addresses of the logo of a built-in type, in two sizes."""

    small: str
    large: str


class PluginBuild(ApiModel):
    """The build of a built-in type: empty, since the types are not built on their own."""

    time: int | None = Field(default=None, description="Never set")


class PluginScreenshot(ApiModel):
    """A picture of a built-in type."""

    name: str
    path: str


class PluginInfo(ApiModel):
    """The description of a built-in type."""

    author: PluginAuthor = PluginAuthor()
    description: str
    links: list[PluginLink]
    logos: PluginLogos
    build: PluginBuild = PluginBuild()
    screenshots: list[PluginScreenshot] = Field(default=[], description="Always empty")
    version: str = Field(description="The version of the API, which clients parse")
    updated: str = ""
    keywords: list[str]


class PluginExtensions(ApiModel):
    """The extensions that a built-in type requires."""

    exposed_components: list[str] = Field(default=[], description="Always empty")


class PluginDependencies(ApiModel):
    """The requirements of a built-in type."""

    grafana_dependency: str = ""
    grafana_version: str = "*"
    plugins: list[str] = Field(default=[], description="Always empty")
    extensions: PluginExtensions = PluginExtensions()


class _PluginHead(ApiModel):
    """The members that PluginItem and PluginShape have in common. Built-in types are always enabled and signed."""

    name: str
    type: Literal["datasource", "panel"]
    id: str
    enabled: bool = True
    pinned: bool = False
    info: PluginInfo
    dependencies: PluginDependencies = PluginDependencies()
    latest_version: str = ""
    has_update: bool = False
    default_nav_url: str
    state: str = ""
    signature: Literal["internal"] = "internal"
    signature_type: str = ""
    signature_org: str = ""
    angular_detected: bool = False


class PluginItem(_PluginHead):
    """A built-in type of data source or panel in a list."""

    category: str = Field(default="", description="tsdb or sql for data sources, empty for panels")


class PluginInclude(ApiModel):
    """A dashboard or page that a plugin contains."""

    name: str
    type: str


class PluginShape(_PluginHead):
    """A built-in type of data source or panel, with its settings."""

    auto_enabled: bool = False
    module: str = Field(description="In Grafana, the address of the script that browsers run; this server does not serve such a script")
    base_url: str
    includes: list[PluginInclude] = Field(default=[], description="Always empty")
    extensions: PluginExtensions = PluginExtensions()
    json_data: dict[str, str] = Field(default={}, description="Always empty: the types have no settings")
    secure_json_fields: dict[str, bool] = Field(default={}, description="Always empty")
    loading_strategy: str = "script"
    translations: dict[str, str] = Field(default={}, description="Always empty")

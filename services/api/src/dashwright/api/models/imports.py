"""The response to an imported dashboard."""

from pydantic import Field

from dashwright.common.models.api_model import ApiModel


class DashboardImported(ApiModel):
    """An imported dashboard, as Grafana describes it."""

    uid: str
    plugin_id: str
    title: str
    imported: bool = Field(default=True, description="Always true")
    imported_uri: str
    imported_url: str
    slug: str
    dashboard_id: int
    #: 0: the root, or a folder that the caller may not read.
    folder_id: int
    folder_uid: str
    #: The version of the stored dashboard, as ``revision``.
    imported_revision: int
    revision: int
    description: str = Field(default="", description="Always empty")
    path: str
    removed: bool = Field(default=False, description="Always false")

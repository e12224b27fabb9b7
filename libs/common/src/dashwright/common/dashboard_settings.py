"""Declaration of the settings of the versions of dashboards."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic_settings import BaseSettings

from dashwright.common.setting_field import setting


class DashboardSettingsFields(BaseSettings):
    """Settings of the versions in which dashboards are served."""

    preferred_dashboard_version: Literal["v0alpha1", "v1alpha1", "v1beta1", "v1", "v2alpha1", "v2beta1", "v2"] = setting(
        "v2alpha1",
        "version of dashboards that discovery prefers, and that clients such as kubectl therefore read: "
        "`v0alpha1`, `v1alpha1`, `v1beta1`, `v1`, `v2alpha1`, `v2beta1` or `v2`",
        "api",
    )
    conversion_cache_bytes: Annotated[int, Field(ge=0)] = setting(
        64 * 1024 * 1024,
        "maximum memory of one gateway for dashboards that were converted to another version; `0` disables the cache",
        "api",
    )

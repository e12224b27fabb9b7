"""Preferences of a user, team or organization, as the classic API returns them."""

from typing import Any

from pydantic import Field

from dashwright.common.models.api_model import ApiModel


class PreferencesShape(ApiModel):
    """Preferences. Members that are not set are left out."""

    theme: str | None = None
    home_dashboard_uid: str | None = Field(default=None, alias="homeDashboardUID")
    timezone: str | None = None
    week_start: str | None = None
    language: str | None = None
    query_history: dict[str, Any] | None = None
    navbar: dict[str, Any] | None = None

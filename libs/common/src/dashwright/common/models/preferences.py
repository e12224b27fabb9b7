"""Preferences: ``preferences.grafana.app/v1alpha1``. They are read here, and changed by the classic API."""

from typing import Any

from pydantic import Field

from dashwright.common.models.api_model import ApiModel


class PreferencesSpec(ApiModel):
    """Preferences of an organization, a team or a user. Members that are not set are missing."""

    theme: str | None = Field(default=None, description="light, dark or system")
    timezone: str | None = Field(default=None, description="The name of a time zone, utc or browser")
    week_start: str | None = Field(default=None, description="The first day of the week")
    home_dashboard_uid: str | None = Field(default=None, alias="homeDashboardUID", description="The dashboard that users start with")
    language: str | None = Field(default=None, description="The language of texts")
    query_history: dict[str, Any] | None = Field(default=None, description="Settings of a page of Grafana")
    navbar: dict[str, Any] | None = Field(default=None, description="Settings of a page of Grafana")

"""Preferences of a user, a team or an organization, as the classic API shows them: only what is set."""

from typing import Any

from pydantic import Field

from dashwright.common.models.shape import Shape


class PreferencesShape(Shape):
    theme: str | None = None
    home_dashboard_uid: str | None = Field(default=None, alias="homeDashboardUID")
    timezone: str | None = None
    week_start: str | None = None
    language: str | None = None
    query_history: dict[str, Any] | None = None
    navbar: dict[str, Any] | None = None

"""Dashboards: ``dashboard.grafana.app``. The spec is open; the status says how reading it in a version went."""

from dashwright.common.models.shape import Shape


class ConversionStatus(Shape):
    """``storedVersion`` is the version that shows the dashboard whole."""

    failed: bool | None = None
    stored_version: str | None = None
    error: str | None = None


class DashboardStatus(Shape):
    """Empty where the dashboard is shown in the version that it is stored in.

    ``conversion`` says how it was converted from another one.
    """

    conversion: ConversionStatus | None = None

"""The error of a dashboard that has no form in another version."""

from dashwright.common.errors import Invalid


class ConversionFailed(Invalid):
    """Dashboard that another version cannot express, or whose body is broken."""

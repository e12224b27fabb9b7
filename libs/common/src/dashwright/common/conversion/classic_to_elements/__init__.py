"""Conversion of classic dashboards, which list panels with grid positions, to elements and a layout (``v1`` to later versions)."""

from dashwright.common.conversion.classic_to_elements.dashboard import classic_to_elements

__all__ = ["classic_to_elements"]

"""Conversion of classic dashboards, which list panels with grid positions, to elements and a layout (``v1`` to ``v2alpha1``)."""

from dashwright.common.conversion.classic_to_elements.dashboard import classic_to_elements

__all__ = ["classic_to_elements"]

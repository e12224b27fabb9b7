"""Conversion of dashboards with elements and a layout (``v2alpha1``) to classic dashboards (``v1``), as in Grafana 12.4."""

from dashwright.common.conversion.elements_to_classic.dashboard import elements_to_classic

__all__ = ["elements_to_classic"]

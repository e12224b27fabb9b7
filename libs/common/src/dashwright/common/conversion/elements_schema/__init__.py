"""Schema of dashboards with elements and a layout, in versions ``v2alpha1``, ``v2beta1`` and ``v2``."""

from dashwright.common.conversion.elements_schema.dashboard import SchemaFindings, check_elements

__all__ = ["SchemaFindings", "check_elements"]

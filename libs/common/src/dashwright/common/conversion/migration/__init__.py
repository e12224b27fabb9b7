"""Migration of classic dashboards from older to newer values of ``schemaVersion``, as Grafana 12.4 does it."""

from dashwright.common.conversion.migration.pipeline import migrate

__all__ = ["migrate"]

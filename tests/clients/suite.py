"""What is run: one release of a client's own tests, in the groups that this version of the product claims."""

from collections.abc import Mapping
from typing import Final

PROJECT: Final = "grafana-client"
VERSION: Final = "5.1.4"
SHA256: Final = "3783261a9600e7104b8bf6243cfa71f548f3ee13456753510cf2c109124aa23b"
"""Of the source archive as PyPI has it: what is judged here never changes unnoticed."""

REPORTED_VERSION: Final = "12.0.0"
"""The version the gateway tells the suite, which expects other answers of other versions."""

GROUPS: Final[Mapping[str, str]] = {
    "health": "test/elements/test_health.py",
    "service-accounts": "test/elements/test_service_account.py",
    "admin": "test/elements/test_admin.py",
    "organizations": "test/elements/test_organization.py",
    "users": "test/elements/test_user.py",
    "teams": "test/elements/test_team.py",
    "datasources": "test/elements/test_datasource_base.py",
    "client": "test/test_grafana_client.py",
    "asynchronous-client": "test/test_async.py",
}
"""Each group and the file of its tests, within the archive."""

_DATA_SOURCES: Final = f"{GROUPS['datasources']}::DatasourceTestCase"

UNCLAIMED: Final[Mapping[str, str]] = {
    f"{_DATA_SOURCES}::test_get_datasource_proxy_data_query_time": "no proxy to data sources: they are asked by /api/ds/query",
    f"{_DATA_SOURCES}::test_get_datasource_proxy_data_query_range": "the same",
    f"{_DATA_SOURCES}::test_series": "the same",
}
"""Tests of calls that this version does not claim, each with the reason. They do not run."""

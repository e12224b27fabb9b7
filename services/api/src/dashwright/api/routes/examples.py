"""Examples of the most used operations, in an order in which they can be tried."""

from collections.abc import Mapping
from typing import Final

from dashwright.api.http.openapi import Example

_CSV_CONTENT: Final = "time,orders\n2026-01-01T00:00:00Z,10\n2026-01-01T00:01:00Z,12"
_TESTDATA_QUERY: Final = {
    "refId": "A",
    "datasource": {"type": "grafana-testdata-datasource"},
    "scenarioId": "csv_content",
    "csvContent": _CSV_CONTENT,
}
_TIME: Final = "2026-01-01T00:00:00Z"
_FOLDER: Final = {
    "id": 8004098769436270,
    "uid": "shop",
    "orgId": 1,
    "title": "Shop",
    "url": "/dashboards/f/shop/shop",
    "hasAcl": False,
    "canSave": True,
    "canEdit": True,
    "canAdmin": True,
    "canDelete": True,
    "createdBy": "admin",
    "created": _TIME,
    "updatedBy": "admin",
    "updated": _TIME,
    "version": 1,
}
_SEARCH_RESULT: Final = {
    "id": 134555181300888,
    "uid": "orders",
    "orgId": 1,
    "title": "Orders",
    "uri": "db/orders",
    "url": "/d/orders/orders",
    "slug": "",
    "type": "dash-db",
    "tags": ["shop"],
    "isStarred": False,
    "sortMeta": 0,
    "isDeleted": False,
    "folderUid": "shop",
    "folderTitle": "Shop",
}
_DASHBOARD: Final = {
    "uid": "orders",
    "title": "Orders",
    "tags": ["shop"],
    "schemaVersion": 41,
    "panels": [{"id": 1, "type": "timeseries", "title": "Orders a minute", "targets": [_TESTDATA_QUERY]}],
}
_REPOSITORY: Final = {
    "apiVersion": "provisioning.grafana.app/v0alpha1",
    "kind": "Repository",
    "metadata": {"name": "team"},
    "spec": {
        "title": "Dashboards of the team",
        "type": "githost",
        "githost": {"url": "https://git.example.org/team/dashboards.git", "branch": "main"},
        "sync": {"enabled": True, "target": "folder", "intervalSeconds": 60},
        "workflows": ["write", "branch"],
    },
}
_EVALUATION: Final = {
    "apiVersion": "expressions.dashwright.io/v0alpha1",
    "kind": "Evaluation",
    "metadata": {"generateName": "orders-"},
    "spec": {
        "panel": {
            "type": "stat",
            "targets": [
                _TESTDATA_QUERY,
                {"refId": "B", "type": "reduce", "expression": "A", "reducer": "sum"},
            ],
        },
        "from": "1767225600000",
        "to": "1767225660000",
    },
}

#: The example of each operation, by operation id.
EXAMPLES: Final[Mapping[str, Example]] = {
    "createFolder": Example({"uid": "shop", "title": "Shop"}, _FOLDER),
    "postDashboard": Example(
        {"dashboard": _DASHBOARD, "folderUid": "shop", "message": "The first version", "overwrite": True},
        {
            "id": 134555181300888,
            "uid": "orders",
            "folderUid": "shop",
            "slug": "orders",
            "url": "/d/orders/orders",
            "status": "success",
            "version": 1,
        },
    ),
    "getDashboardByUID": Example(None, None, {"uid": "orders"}),
    "search": Example(None, [_SEARCH_RESULT]),
    "addDataSource": Example(
        {"name": "Prometheus", "uid": "prometheus", "type": "prometheus", "access": "proxy", "url": "https://prometheus.example.org"},
        None,
    ),
    "createServiceAccount": Example({"name": "ci", "role": "Editor"}, None),
    "queryMetricsWithExpressions": Example(
        {
            "from": "1767225600000",
            "to": "1767225660000",
            "queries": [
                _TESTDATA_QUERY,
                {"refId": "B", "datasource": {"type": "__expr__", "uid": "__expr__"}, "type": "math", "expression": "$A * 2"},
            ],
        },
        {
            "results": {
                "B": {
                    "status": 200,
                    "frames": [
                        {
                            "schema": {
                                "refId": "B",
                                "fields": [
                                    {"name": "time", "type": "time", "typeInfo": {"frame": "time.Time"}},
                                    {"name": "B", "type": "number", "typeInfo": {"frame": "float64", "nullable": True}},
                                ],
                            },
                            "data": {"values": [[1767225600000, 1767225660000], [20, 24]]},
                        }
                    ],
                }
            }
        },
    ),
    "queryPanel": Example({**_EVALUATION["spec"]["panel"], "from": "1767225600000", "to": "1767225660000"}, None),  # type: ignore[index]
    "createRepositoryV0alpha1": Example(_REPOSITORY, _REPOSITORY, {"namespace": "default"}),
    "listRepositoryV0alpha1": Example(
        None,
        {
            "apiVersion": "provisioning.grafana.app/v0alpha1",
            "kind": "RepositoryList",
            "metadata": {"resourceVersion": "17"},
            "items": [_REPOSITORY],
        },
        {"namespace": "default"},
    ),
    "createEvaluationV0alpha1": Example(_EVALUATION, {**_EVALUATION, "status": {"state": "pending"}}, {"namespace": "default"}),
}

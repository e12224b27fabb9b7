"""A small query that needs both a data source and an expression."""

QUERY = {
    "from": "now-1h",
    "to": "now",
    "queries": [
        {"refId": "A", "datasource": {"type": "grafana-testdata-datasource"}, "scenarioId": "raw_frame", "rawFrameContent": "[]"},
        {"refId": "B", "datasource": {"uid": "__expr__"}, "type": "math", "expression": "1 + 1"},
    ],
}

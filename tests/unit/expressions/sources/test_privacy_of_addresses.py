"""Errors do not reveal the address of a data source to callers who may not read its settings."""

from functools import partial
from typing import Any

import orjson
import pytest
from tests.unit.expressions.sources.records import MemoryRecords, source_record

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.host_resolver import HostResolver
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.expressions.queries import QuerySettings, respond
from dashwright.expressions.sources.http_client import HttpClient
from dashwright.expressions.sources.postgres.connections import Connections
from dashwright.expressions.sources.postgres.source import Postgres
from dashwright.expressions.sources.prometheus.source import Prometheus
from dashwright.expressions.sources.registry import SourceFactories, SourceRegistry

CLOSED_ADDRESS, PRIVATE_ADDRESS = "127.0.0.1:1", "10.66.77.88:9090"
RECORDS = [
    source_record(f"http://{CLOSED_ADDRESS}", "closed", id=1),
    source_record(f"http://{PRIVATE_ADDRESS}", "private", id=2),
    source_record(CLOSED_ADDRESS, "pg-closed", id=3, type="postgres", user="hidden", json_data={"sslmode": "disable"}),
    source_record(PRIVATE_ADDRESS, "pg-private", id=4, type="postgres", user="hidden", json_data={"sslmode": "disable"}),
    source_record("not an address", "odd", id=5),
]
SECRETS = ("127.0.0.1", "10.66.77.88", "9090", "hidden", "not an address", "ALLOWED_HOSTS")


@pytest.mark.parametrize("endpoint", [QueryEndpoint.QUERY, QueryEndpoint.HEALTH])
@pytest.mark.parametrize("uid", [record.uid for record in RECORDS])
async def test_an_address_is_shown_only_to_permitted_callers(uid: str, endpoint: QueryEndpoint) -> None:
    """Errors show the address only to callers who may read the settings of the data source. Others are advised to ask such a caller."""
    resolver = HostResolver(AllowedHosts.parse(("127.0.0.0/8",)))
    client, connections = HttpClient(resolver, connections=1), Connections(resolver)
    factories: SourceFactories = {"prometheus": partial(Prometheus, http=client), "postgres": partial(Postgres, connections=connections)}
    settings = QuerySettings(sources=SourceRegistry(factories, MemoryRecords(RECORDS)))
    query = {"refId": "A", "datasource": {"uid": uid}, "expr": "up", "rawSql": "select 1", "format": "table"}
    body: dict[str, Any] = {"uid": uid} if endpoint is QueryEndpoint.HEALTH else {"from": "1000", "to": "2000", "queries": [query]}

    async def error_for(readable: frozenset[str] | None) -> str:
        """Return the error for a caller who may read the settings of these data sources, or of all if None."""
        response = await respond(orjson.dumps(body), QueryContext(endpoint, org_id=1, readable=readable), settings)
        assert response.headers["status"] == 400
        assert isinstance(response.body, bytes)
        return response.body.decode()

    try:
        for visible_uids in (None, frozenset({uid})):
            error_text = await error_for(visible_uids)
            assert any(secret in error_text for secret in SECRETS)
        error_for_others = await error_for(frozenset({"another"}))
    finally:
        await client.close()
        await connections.close()
    assert "cannot be reached; ask those who may read its settings" in error_for_others
    assert not any(secret in error_for_others for secret in SECRETS)


def test_a_missing_header_grants_nothing() -> None:
    """The permissions of a caller are a header of the message. A missing header permits nothing."""
    assert QueryContext.from_headers({}).readable == frozenset()
    for readable in (None, frozenset(), frozenset({"a", "b"})):
        assert QueryContext.from_headers(QueryContext(readable=readable).headers()).readable == readable

"""Callers who may not read the settings of a data source learn nothing of its address from errors."""

from functools import partial
from typing import Any

import orjson
import pytest
from tests.unit.expressions.sources.records import MemoryRecords
from tests.unit.expressions.sources.records import prometheus as on_record

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.common.reach import Reach
from dashwright.expressions.queries import QuerySettings, respond
from dashwright.expressions.sources.directory import Directory, Kinds
from dashwright.expressions.sources.http.client import HttpClient
from dashwright.expressions.sources.postgres.connections import Connections
from dashwright.expressions.sources.postgres.source import Postgres
from dashwright.expressions.sources.prometheus.source import Prometheus

CLOSED, PRIVATE = "127.0.0.1:1", "10.66.77.88:9090"
RECORDS = [
    on_record(f"http://{CLOSED}", "closed", id=1),
    on_record(f"http://{PRIVATE}", "private", id=2),
    on_record(CLOSED, "pg-closed", id=3, type="postgres", user="hidden", json_data={"sslmode": "disable"}),
    on_record(PRIVATE, "pg-private", id=4, type="postgres", user="hidden", json_data={"sslmode": "disable"}),
    on_record("not an address", "odd", id=5),
]
SECRETS = ("127.0.0.1", "10.66.77.88", "9090", "hidden", "not an address", "ALLOWED_HOSTS")


@pytest.mark.parametrize("endpoint", [QueryEndpoint.QUERY, QueryEndpoint.HEALTH])
@pytest.mark.parametrize("uid", [record.uid for record in RECORDS])
async def test_an_address_is_named_to_those_who_may_read_it(uid: str, endpoint: QueryEndpoint) -> None:
    """Others learn which data source it is, and whom to ask."""
    reach = Reach(AllowedHosts.of(("127.0.0.0/8",)))
    client, connections = HttpClient(reach, connections=1), Connections(reach)
    kinds: Kinds = {"prometheus": partial(Prometheus, http=client), "postgres": partial(Postgres, connections=connections)}
    settings = QuerySettings(sources=Directory(kinds, MemoryRecords(RECORDS)))
    query = {"refId": "A", "datasource": {"uid": uid}, "expr": "up", "rawSql": "select 1", "format": "table"}
    body: dict[str, Any] = {"uid": uid} if endpoint is QueryEndpoint.HEALTH else {"from": "1000", "to": "2000", "queries": [query]}

    async def told(readable: frozenset[str] | None) -> str:
        answered = await respond(orjson.dumps(body), QueryContext(endpoint, org_id=1, readable=readable), settings)
        assert answered.headers["status"] == 400
        assert isinstance(answered.body, bytes)
        return answered.body.decode()

    try:
        for seen in (None, frozenset({uid})):
            shown = await told(seen)
            assert any(secret in shown for secret in SECRETS)
        hidden = await told(frozenset({"another"}))
    finally:
        await client.close()
        await connections.close()
    assert "cannot be reached; ask those who may read its settings" in hidden
    assert not any(secret in hidden for secret in SECRETS)


def test_a_message_that_says_nothing_of_it_grants_nothing() -> None:
    """The rights of the caller are in the message, and a missing header grants none."""
    assert QueryContext.of({}).readable == frozenset()
    for readable in (None, frozenset(), frozenset({"a", "b"})):
        assert QueryContext.of(QueryContext(readable=readable).headers()).readable == readable

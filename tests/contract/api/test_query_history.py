"""Histories of queries. Each user has one history in each organization."""

import asyncio
from typing import Any, Final

import pytest
from tests.contract.api.conftest import Api, StartApi, legacy_text

from dashwright.api.housekeeping import Cleaner
from dashwright.common.clock import Clock
from dashwright.common.identity import Role

PATH: Final = "/api/query-history"
NOT_FOUND: Final = (404, {"message": "Query in query history not found"})
QUERIES: Final = [{"refId": "A", "expr": "up"}]


async def add_entry(api: Api, queries: Any = QUERIES, source: str = "prom", **options: Any) -> str:
    """Add an entry and return its uid."""
    status, body = await api("POST", PATH, {"datasourceUid": source, "queries": queries}, **options)
    assert status == 200, body
    return str(body["result"]["uid"])


async def search_history(api: Api, query: str = "", **options: Any) -> list[str]:
    """Return the uids of the entries on a page of a search."""
    status, body = await api("GET", f"{PATH}?{query}", **options)
    assert status == 200, body
    return [entry["uid"] for entry in body["result"]["queryHistory"]]


async def test_an_entry_is_added_commented_starred_and_deleted(api: Api) -> None:
    """Each response about an entry has the entry with its exact queries."""
    status, body = await api("POST", PATH, data='{"datasourceUid":"prom","queries":[{"refId":"A","exact":1.10}]}')
    entry = body["result"]
    uid, created_at = entry["uid"], entry["createdAt"]
    fields = {"uid": uid, "datasourceUid": "prom", "createdBy": 1, "createdAt": created_at, "comment": "", "starred": False}
    assert (status, entry) == (200, {**fields, "queries": [{"refId": "A", "exact": 1.1}]})
    stored_text = await api.sql("select queries from query_history")
    assert stored_text == '[{"refId":"A","exact":1.10}]'
    assert await api("PATCH", f"{PATH}/{uid}", {"comment": "CPU"}) == (200, {"result": {**entry, "comment": "CPU"}})
    starred = {**entry, "comment": "CPU", "starred": True}
    assert await api("POST", f"{PATH}/star/{uid}") == (200, {"result": starred})
    page = {"totalCount": 1, "page": 1, "perPage": 100, "queryHistory": [starred]}
    assert await api("GET", PATH) == (200, {"result": page})
    assert await api("DELETE", f"{PATH}/star/{uid}") == (200, {"result": {**starred, "starred": False}})
    assert await api("PATCH", f"{PATH}/{uid}", {"comment": ""}) == (200, {"result": entry})
    status, deleted = await api("DELETE", f"{PATH}/{uid}")
    assert (status, deleted["message"], type(deleted["id"])) == (200, "Query deleted", int)
    assert await api("PATCH", f"{PATH}/{uid}", {"comment": "x"}) == NOT_FOUND
    assert await api("DELETE", f"{PATH}/{uid}") == NOT_FOUND
    assert await api("POST", f"{PATH}/star/{uid}") == NOT_FOUND
    assert await api("DELETE", f"{PATH}/star/{uid}") == NOT_FOUND


async def test_a_search_filters_sorts_and_has_pages(api: Api) -> None:
    """A search filters by data source, text, star and time, and lists the newest entry first by default."""
    cpu = await add_entry(api, [{"expr": "cpu_seconds"}])
    memory = await add_entry(api, [{"expr": "memory"}], "loki")
    disk = await add_entry(api, [{"expr": "disk"}], "sql")
    first = int(Clock().now().timestamp()) - 60
    # The entries are one second apart.
    await api.sql("update query_history set created_at = to_timestamp($1::bigint + id - (select min(id) from query_history))", first)
    await api("PATCH", f"{PATH}/{disk}", {"comment": "not CPU"})
    await api("POST", f"{PATH}/star/{memory}")
    for query, expected in (
        ("", [disk, memory, cpu]),
        ("sort=time-asc", [cpu, memory, disk]),
        ("datasourceUid=prom", [cpu]),
        ("datasourceUid=prom&datasourceUid=loki", [memory, cpu]),
        ("searchString=Cpu", [disk, cpu]),
        ("searchString=%25", []),
        ("onlyStarred=true", [memory]),
        ("onlyStarred=false", [disk, memory, cpu]),
        (f"from={first + 1}", [disk, memory]),
        (f"to={first + 1}", [memory, cpu]),
        (f"from={first + 1}&to={first + 1}", [memory]),
        ("limit=2", [disk, memory]),
        ("limit=2&page=2", [cpu]),
        ("page=9", []),
    ):
        assert await search_history(api, query) == expected, query
    _, body = await api("GET", f"{PATH}?limit=2")
    assert (body["result"]["totalCount"], body["result"]["perPage"]) == (3, 2)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"datasourceUid": "prom"},
        {"queries": []},
        {"datasourceUid": "prom", "queries": {}},
        {"datasourceUid": "prom", "queries": ["up"]},
        {"datasourceUid": "prom\0", "queries": []},
        {"datasourceUid": "prom", "queries": [{"expr": "\0"}]},
        {"datasourceUid": "prom", "queries": [{"expr": "x" * 65_536}]},
    ],
    ids=["empty", "no queries", "no data source", "object", "text", "NUL in the data source", "NUL in a query", "too large"],
)
async def test_invalid_entries_are_refused(api: Api, body: Any) -> None:
    """An entry whose data source or queries are missing, invalid or too large is 400, and nothing is stored."""
    assert (await api("POST", PATH, body))[0] == 400
    assert await search_history(api) == []


async def test_a_long_comment_is_refused(api: Api) -> None:
    """A comment with more than 2000 characters, or none, returns 400, and the stored comment is kept."""
    uid = await add_entry(api)
    assert (await api("PATCH", f"{PATH}/{uid}", {"comment": "c" * 2000}))[0] == 200
    assert (await api("PATCH", f"{PATH}/{uid}", {"comment": "d" * 2001}))[0] == 400
    assert (await api("PATCH", f"{PATH}/{uid}", {}))[0] == 400
    assert await api.sql("select comment from query_history") == "c" * 2000


async def test_a_history_is_that_of_one_user_in_one_organization(api: Api) -> None:
    """Only the user who added an entry finds and changes it, and only in the organization where it was added."""
    editor = await api.person("editor", Role.EDITOR)
    uid = await add_entry(api, auth=editor)
    org_id = await api.organization("Other")
    await api.sql("""insert into org_user (org_id, user_id, role) select $1, id, 'Editor' from "user" where login = 'editor'""", org_id)
    in_other_organization: dict[str, Any] = {"auth": editor, "headers": {"X-Grafana-Org-Id": str(org_id)}}
    as_admin: dict[str, Any] = {}
    for options in (as_admin, in_other_organization):
        assert await search_history(api, **options) == []
        assert await api("PATCH", f"{PATH}/{uid}", {"comment": "x"}, **options) == NOT_FOUND
        assert await api("POST", f"{PATH}/star/{uid}", **options) == NOT_FOUND
        assert await api("DELETE", f"{PATH}/{uid}", **options) == NOT_FOUND
    assert await search_history(api, auth=editor) == [uid]


async def test_viewers_and_legacy_keys_have_no_history(api: Api) -> None:
    """Users and service accounts that may explore data sources have a history. Viewers and legacy keys have none."""
    viewer = await api.person("viewer", Role.VIEWER)
    assert (await api("POST", PATH, {"datasourceUid": "p", "queries": QUERIES}, auth=viewer))[0] == 403
    _, token = await api.token(await api.account("robot", Role.EDITOR), "t")
    assert await search_history(api, auth=f"Bearer {token}") == []
    uid = await add_entry(api, auth=f"Bearer {token}")
    assert await search_history(api, auth=f"Bearer {token}") == [uid]
    await api.legacy_key("old", role=Role.EDITOR)
    for method, body in (("GET", None), ("POST", {"datasourceUid": "p", "queries": QUERIES})):
        status, error = await api(method, PATH, body, auth=f"Bearer {legacy_text('old')}")
        assert status == 403
        assert "legacy API key" in error["message"]


async def test_a_history_is_bounded(start_api: StartApi) -> None:
    """Above the limit of a user, the oldest entries are deleted, those with a star last, even if requests are concurrent."""
    api = await start_api(query_history=3)
    other_editor = await api.person("other", Role.EDITOR)
    await add_entry(api, auth=other_editor)
    first, second, third = await add_entry(api), await add_entry(api), await add_entry(api)
    assert (await api("POST", f"{PATH}/star/{first}"))[0] == 200
    fourth = await add_entry(api)
    assert await search_history(api) == [fourth, third, first]
    for uid in (third, fourth):
        assert (await api("POST", f"{PATH}/star/{uid}"))[0] == 200
    fifth = await add_entry(api)
    assert await search_history(api) == [fifth, fourth, third]
    await asyncio.gather(*(add_entry(api) for _ in range(6)))
    assert len(await search_history(api)) == 3
    assert len(await search_history(api, auth=other_editor)) == 1
    assert second not in await search_history(api)


async def test_old_entries_are_deleted(api: Api) -> None:
    """Housekeeping deletes entries without a star after the configured days."""
    old, starred, recent = await add_entry(api), await add_entry(api), await add_entry(api)
    assert (await api("POST", f"{PATH}/star/{starred}"))[0] == 200
    await api.sql("update query_history set created_at = now() - interval '15 days' where uid <> $1", recent)
    # With 0 days no entry is deleted.
    for days, remaining in ((0, {old, starred, recent}), (16, {old, starred, recent}), (14, {starred, recent})):
        await Cleaner(api.database, Clock(), expired_token_days=0, audit_days=0, query_history_days=days).clean()
        assert set(await search_history(api)) == remaining


async def test_a_history_is_deleted_with_its_user(api: Api) -> None:
    """Deleting a user deletes their entries."""
    editor = await api.person("editor", Role.EDITOR)
    await add_entry(api, auth=editor)
    user_id = await api.sql("""select id from "user" where login = 'editor'""")
    assert (await api("DELETE", f"/api/admin/users/{user_id}"))[0] == 200
    assert await api.sql("select count(*) from query_history") == 0

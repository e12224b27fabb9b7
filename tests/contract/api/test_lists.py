"""Lists of resources over HTTP. All pages of a list show one version, and selectors and access rules restrict them."""

import asyncio
import base64
import gzip
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import orjson
import pytest
import yaml
from tests.contract.api.conftest import ADMIN, Api
from tests.contract.api.stored_jobs import insert_job

from dashwright.api.resources import listing
from dashwright.common.database.pool import Connection, Database
from dashwright.common.identity import Role
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.stores import resources
from dashwright.common.stores.resources import Write

GROUP: Final = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default"
LIST: Final = f"{GROUP}/dashboards"
FOLDERS: Final = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"
JOBS: Final = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/jobs"
TABLE: Final = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
NOW: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


async def insert(
    connection: Connection,
    name: str,
    spec: Any = None,
    *,
    folder: str = "",
    labels: Mapping[str, str] | None = None,
    namespace: str = "default",
) -> None:
    """Insert or replace a dashboard, without the checks of a gateway."""
    text = orjson.dumps(spec or {"title": name}).decode()
    annotations = {"grafana.app/folder": folder} if folder else {}
    write = Write(DASHBOARD, name, text, "v2alpha1", extract=Extract(name), labels=labels or {}, annotations=annotations)
    async with connection.transaction():
        await resources.put(await resources.lock(connection, namespace), namespace, write, actor="user:1", now=NOW)


async def create_dashboards(api: Api, *names: str, **options: Any) -> None:
    """Insert dashboards with these names, each in a transaction of its own."""
    async with api.database.connection() as connection:
        for name in names:
            await insert(connection, name, **options)


def names_of(page: Any) -> list[str]:
    """Return the names on a page."""
    return [item["metadata"]["name"] for item in page["items"]]


async def pages_of(api: Api, query: str, path: str = LIST, **options: Any) -> list[Any]:
    """Return every page of a list, each requested with the token of the one before."""
    pages, token = [], ""
    while True:
        status, page = await api("GET", f"{path}?{query}&continue={token}", **options)
        assert status == 200, page
        pages.append(page)
        token = page["metadata"].get("continue", "")
        if not token:
            return pages


def encode_token(content: Any) -> str:
    """Return a token of a list with the given content, as the gateway encodes it."""
    return base64.urlsafe_b64encode(orjson.dumps(content)).decode()


async def test_the_pages_of_a_list_show_one_version(api: Api) -> None:
    """While three clients write, the pages of each list together show exactly the objects as of the version of the list."""
    names = [f"d{index:02}" for index in range(30)]
    await create_dashboards(api, *names[::2])
    done = asyncio.Event()

    async def write(seed: int) -> None:
        """Write or delete 150 random dashboards."""
        generator = random.Random(seed)
        async with api.database.connection() as connection:
            for _ in range(150):
                name = generator.choice(names)
                if generator.random() < 0.3:
                    async with connection.transaction():
                        await resources.lock(connection, "default")
                        await connection.execute("delete from resource where name = $1", name)
                else:
                    await insert(
                        connection, name, {"title": generator.choice("TU"), "n": generator.choice("12")}, labels={"seed": str(seed)}
                    )

    async def read(limit: int) -> list[list[Any]]:
        """Read lists in pages of a size until all writers have ended."""
        lists_of_pages = []
        while not done.is_set():
            lists_of_pages.append(await pages_of(api, f"limit={limit}"))
        return lists_of_pages

    readers = [asyncio.create_task(read(limit)) for limit in (1, 4, 7)]
    await asyncio.gather(*(write(seed) for seed in range(3)))
    done.set()
    lists = [pages for reader_lists in await asyncio.gather(*readers) for pages in reader_lists]
    assert len(lists) > 3
    for pages in lists:
        versions = {page["metadata"]["resourceVersion"] for page in pages}
        assert len(versions) == 1
        items = [item for page in pages for item in page["items"]]
        assert items == await _replay_changes(api.database, int(versions.pop()))


async def _replay_changes(database: Database, last_version: int) -> list[Any]:
    """Return the dashboards that result from all changes up to a version, by name."""
    objects: dict[str, Any] = {}
    statement = """
        select c.*, h.spec as body from change c left join resource_history h using (uid, generation)
        where c.resource = 'dashboards' and c.resource_version <= $1 order by c.resource_version"""
    async with database.connection() as connection:
        for row in await connection.fetch(statement, last_version):
            objects.pop(row["name"], None)
            if row["type"] != "DELETED":
                version = {"resourceVersion": str(row["resource_version"]), "generation": row["generation"]}
                objects[row["name"]] = {
                    "kind": "Dashboard",
                    "apiVersion": "dashboard.grafana.app/v2alpha1",
                    "metadata": version | orjson.loads(row["metadata"]),
                    "spec": orjson.loads(row["body"]),
                    "status": {},
                }
    return [objects[name] for name in sorted(objects)]


async def test_a_list_has_its_version_and_the_remaining_count(api: Api) -> None:
    """The remaining count decreases from page to page and ignores writes after the first page. The last page has no remaining count."""
    await create_dashboards(api, "a", "b", "c", "d", "e")
    _, first = await api("GET", f"{LIST}?limit=2")
    assert first["metadata"]["remainingItemCount"] == 3
    await create_dashboards(api, "aa", "dd")
    _, second = await api("GET", f"{LIST}?limit=2&continue={first['metadata']['continue']}")
    assert second["metadata"]["remainingItemCount"] == 1
    _, third = await api("GET", f"{LIST}?limit=2&continue={second['metadata']['continue']}")
    assert names_of(first) + names_of(second) + names_of(third) == list("abcde")
    assert third["metadata"] == {"resourceVersion": first["metadata"]["resourceVersion"]}


async def test_a_selection_has_no_remaining_count(api: Api) -> None:
    """A list with a selector has no remaining count, because the number of further matches is unknown."""
    await create_dashboards(api, "a", "b", "c", labels={"x": "1"})
    pages = await pages_of(api, "limit=1&labelSelector=x")
    assert [names_of(page) for page in pages] == [["a"], ["b"], ["c"]]
    assert not any("remainingItemCount" in page["metadata"] for page in pages)


async def test_an_expired_token_is_410_with_a_new_one(api: Api) -> None:
    """An expired token is 410 with a new token, with which the list continues with current objects."""
    await create_dashboards(api, "a", "b", "c")
    _, first = await api("GET", f"{LIST}?limit=1")
    await create_dashboards(api, "bb")
    await api.sql("update change_horizon set resource_version = (select max(resource_version) from change) returning 1")
    status, error = await api("GET", f"{LIST}?limit=1&continue={first['metadata']['continue']}")
    assert (status, error["reason"], error["code"]) == (410, "Expired", 410)
    status, remaining_list = await api("GET", f"{LIST}?continue={error['metadata']['continue']}")
    assert (status, names_of(remaining_list)) == (200, ["b", "bb", "c"])
    assert "continue" not in error.get("details", {})


@pytest.mark.parametrize(
    ("query", "names"),
    [
        # ``{earlier}`` is the version before c was created.
        ("resourceVersion=0", "abc"),
        ("resourceVersion={earlier}", "abc"),
        ("resourceVersion={earlier}&resourceVersionMatch=NotOlderThan", "abc"),
        ("resourceVersion=0&resourceVersionMatch=NotOlderThan", "abc"),
        ("resourceVersion={earlier}&resourceVersionMatch=Exact", "ab"),
        ("resourceVersion={earlier}&resourceVersionMatch=Exact&limit=1", "a"),
        ("limit=0", "abc"),
        ("timeout=32s&pretty=true", "abc"),
    ],
)
async def test_a_list_has_the_newest_version(api: Api, query: str, names: str) -> None:
    """A list has the newest version, unless ``Exact`` selects an older version. Unknown parameters are ignored."""
    await create_dashboards(api, "a", "b")
    _, earlier_list = await api("GET", LIST)
    await create_dashboards(api, "c")
    status, body = await api("GET", f"{LIST}?{query.format(earlier=earlier_list['metadata']['resourceVersion'])}")
    assert (status, "".join(names_of(body))) == (200, names)


@pytest.mark.parametrize(
    ("query", "status", "reason"),
    [
        ("resourceVersion=x", 400, "BadRequest"),
        ("resourceVersion=1&resourceVersionMatch=Exact", 410, "Expired"),
        ("resourceVersionMatch=Exact", 422, "Invalid"),
        ("resourceVersion=0&resourceVersionMatch=Exact", 422, "Invalid"),
        ("resourceVersion=1&resourceVersionMatch=Newer", 422, "Invalid"),
        ("resourceVersion=1&continue={token}", 400, "BadRequest"),
        ("resourceVersionMatch=NotOlderThan&continue={token}", 422, "Invalid"),
        # ``v`` is the version of the token's format, and ``at`` the resource version of the list.
        (f"continue={encode_token({'v': 9, 'at': 1, 'after': ''})}", 400, "BadRequest"),
        (f"continue={encode_token({'v': 1, 'at': -1, 'after': ''})}", 400, "BadRequest"),
        (f"continue={encode_token([])}", 400, "BadRequest"),
        ("labelSelector=a%3D%3D%3Db", 400, "BadRequest"),
        ("fieldSelector=spec.title%3Db", 400, "BadRequest"),
    ],
)
async def test_invalid_lists_are_rejected(api: Api, query: str, status: int, reason: str) -> None:
    """Each invalid list has the status that Kubernetes clients expect. A token of another format or with an invalid version is 400."""
    await create_dashboards(api, "a", "b")
    _, first = await api("GET", f"{LIST}?limit=1")
    # Lists can no longer be read as of versions before 2.
    await api.sql("update change_horizon set resource_version = 2 returning 1")
    actual_status, error = await api("GET", f"{LIST}?{query.format(token=first['metadata']['continue'])}")
    assert (actual_status, error["reason"]) == (status, reason)


async def test_a_future_version_is_too_large(api: Api) -> None:
    """A future version is 504 with the cause by which clients detect another database."""
    status, error = await api("GET", f"{LIST}?resourceVersion=999999999")
    assert (status, error["reason"]) == (504, "Timeout")
    assert error["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert error["details"]["retryAfterSeconds"] == 1


async def test_selectors_narrow_a_list_down(api: Api) -> None:
    """Lists are filtered by labels, by names, and by the number that older clients use as id."""
    await create_dashboards(api, "a", labels={"team": "x", "tier": "1"})
    await create_dashboards(api, "b", labels={"team": "y"})
    await create_dashboards(api, "c")

    async def list_names(**query: str) -> list[str]:
        """Return the names of the objects that a query selects."""
        status, page = await api("GET", LIST, params=query)
        assert status == 200, page
        return names_of(page)

    assert await list_names(labelSelector="team in (x,y),!tier") == ["b"]
    assert await list_names(labelSelector="team!=x") == ["b", "c"]
    assert await list_names(fieldSelector="metadata.name=b") == ["b"]
    assert await list_names(fieldSelector="metadata.name!=b,metadata.namespace=default") == ["a", "c"]
    assert await list_names(fieldSelector="metadata.namespace=org-2") == []
    assert await list_names(fieldSelector="metadata.name=b", labelSelector="team=x") == []
    _, item = await api("GET", f"{LIST}/b")
    internal_id = item["metadata"]["labels"]["grafana.app/deprecatedInternalID"]
    assert await list_names(labelSelector=f"grafana.app/deprecatedInternalID={internal_id}") == ["b"]
    assert await list_names(labelSelector="grafana.app/deprecatedInternalID=1") == []


async def test_a_table_is_listed_without_reading_specs(api: Api) -> None:
    """The cells of a table are columns of the store, so rows are returned even without specs."""
    await create_dashboards(api, "a", "b", "c")
    await api.sql("delete from resource_history returning 1")
    status, table = await api("GET", f"{LIST}?limit=2", headers=TABLE)
    assert (status, table["kind"], [row["cells"][:2] for row in table["rows"]]) == (200, "Table", [["a", "a"], ["b", "b"]])
    assert table["metadata"]["remainingItemCount"] == 1
    assert table["metadata"]["continue"]
    status, error = await api("GET", LIST)
    assert (status, error["reason"]) == (410, "Expired")


async def test_a_list_is_served_in_yaml(api: Api) -> None:
    """A list in YAML, empty or in chunks, equals the list in JSON. A parser of YAML 1.1 does not read the title ``no`` as false."""
    headers = {"Authorization": ADMIN, "Accept": "application/yaml"}
    for names in ([], ["a", "b", "c"]):
        await create_dashboards(api, *names, spec={"title": "no", "text": "x" * listing.CHUNK_BYTES})
        _, complete = await api("GET", LIST)
        async with api.session.get(LIST, headers=headers) as response:
            assert response.headers["Content-Type"] == "application/yaml"
            assert yaml.safe_load(await response.text()) == complete
            assert names_of(complete) == names


async def test_a_large_list_is_complete(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of several chunks and database pages contains every object once with its spec."""
    monkeypatch.setattr(listing, "_BATCH_SIZE", 4)
    specs = [{"title": f"d{index}", "text": str(index) * (listing.CHUNK_BYTES // 2)} for index in range(10)]
    for spec in specs:
        await create_dashboards(api, spec["title"], spec=spec)
    for query, count in (("", 10), ("?limit=7", 7)):
        _, body = await api("GET", f"{LIST}{query}")
        assert [item["spec"] for item in body["items"]] == specs[:count]


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
async def test_a_large_list_is_compressed_in_chunks(api: Api, coding: str) -> None:
    """A compressed list has the same content as a plain one. The body of a create may be compressed, too."""
    compressed = gzip.compress(b'{"metadata": {"name": "a"}, "spec": {"title": "A"}}')
    headers = {"Authorization": ADMIN, "Content-Encoding": "gzip", "Content-Type": "application/json"}
    async with api.session.post(LIST, data=compressed, headers=headers, compress=False) as response:
        assert response.status == 201, await response.text()
    await create_dashboards(api, "b", "c", "d", spec={"title": "T", "text": "x" * listing.CHUNK_BYTES})
    status, complete = await api("GET", LIST, headers={"Accept-Encoding": "identity"})
    assert (status, names_of(complete)) == (200, list("abcd"))
    headers = {"Authorization": ADMIN, "Accept-Encoding": coding}
    async with api.session.get(LIST, headers=headers) as response:
        assert response.headers["Content-Encoding"] == coding
        assert await response.json() == complete


async def test_a_page_is_limited_by_the_size_of_its_objects(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The objects of a page together have a limited size, but each page has at least one object. All pages contain every object once."""
    # A page has room for two of the small specs, and the spec of d is larger than a page.
    monkeypatch.setattr(listing, "MAX_PAGE_BYTES", 250)
    await create_dashboards(api, *"abcdefg", spec={"title": "x" * 100})
    await create_dashboards(api, "d", spec={"title": "y" * 400})
    pages = await pages_of(api, "limit=5")
    assert [names_of(page) for page in pages] == [["a", "b"], ["c"], ["d"], ["e", "f"], ["g"]]
    assert [page["metadata"].get("remainingItemCount") for page in pages] == [5, 4, 3, 1, None]


async def test_a_list_is_limited_by_access_rules(api: Api) -> None:
    """A list contains and counts only objects in folders that the caller may read."""
    for name in ("f", "g"):
        status, _ = await api("POST", FOLDERS, {"metadata": {"name": name}, "spec": {"title": name}})
        assert status == 201
    await create_dashboards(api, "a", "c", folder="f")
    await create_dashboards(api, "b", "d", folder="g")
    reader = await api.person("reader", Role.NONE, ("dashboards:read", "folders:uid:f"))
    pages = await pages_of(api, "limit=1", auth=reader)
    assert [names_of(page) for page in pages] == [["a"], ["c"]]
    assert not any("remainingItemCount" in page["metadata"] for page in pages)
    unprivileged = await api.person("unprivileged", Role.NONE)
    assert (await api("GET", LIST, auth=unprivileged))[0] == 403


async def test_a_server_admin_lists_all_namespaces(api: Api) -> None:
    """A list over all namespaces is ordered by namespace and name, at one version on all pages. Field selectors restrict the namespaces."""
    await create_dashboards(api, "a", "c")
    await create_dashboards(api, "b", "d", "e", namespace="org-2")
    await create_dashboards(api, "a", namespace="org-3")
    all_namespaces = LIST.replace("/namespaces/default", "")

    def namespaces_and_names(pages: list[Any]) -> list[tuple[str, str]]:
        """Return the namespace and the name of each object on the pages."""
        return [(item["metadata"]["namespace"], item["metadata"]["name"]) for page in pages for item in page["items"]]

    expected_objects = [("default", "a"), ("default", "c"), ("org-2", "b"), ("org-2", "d"), ("org-2", "e"), ("org-3", "a")]
    for limit in (1, 2, 3, 4, 6, 100):
        pages = await pages_of(api, f"limit={limit}", all_namespaces)
        assert namespaces_and_names(pages) == expected_objects
        assert len({page["metadata"]["resourceVersion"] for page in pages}) == 1
    assert namespaces_and_names(await pages_of(api, "", all_namespaces)) == expected_objects
    pages = await pages_of(api, "fieldSelector=metadata.namespace!%3Dorg-2&limit=1", all_namespaces)
    assert namespaces_and_names(pages) == [("default", "a"), ("default", "c"), ("org-3", "a")]
    pages = await pages_of(api, "fieldSelector=metadata.namespace%3Dorg-2,metadata.name%3Dd", all_namespaces)
    assert namespaces_and_names(pages) == [("org-2", "d")]
    first = (await api("GET", f"{all_namespaces}?limit=2"))[1]
    assert first["metadata"]["remainingItemCount"] == 4
    # The second page has the version of the first one and does not show these two changes.
    await create_dashboards(api, "z")
    await api.sql("delete from resource where namespace = 'org-3' returning 1")
    second = (await api("GET", f"{all_namespaces}?continue={first['metadata']['continue']}"))[1]
    assert namespaces_and_names([first, second]) == expected_objects
    await api.sql("update change_horizon set resource_version = (select max(resource_version) from change) returning 1")
    status, error = await api("GET", f"{all_namespaces}?continue={first['metadata']['continue']}")
    assert status == 410
    assert error["metadata"]["continue"]


async def test_lists_over_all_namespaces_are_for_server_admins(api: Api) -> None:
    """A list over all namespaces is 403 for other callers. Jobs, the trash and watches are available in one namespace only."""
    all_namespaces = LIST.replace("/namespaces/default", "")
    admin = await api.person("org-admin", Role.ADMIN)
    status, error = await api("GET", all_namespaces, auth=admin)
    assert (status, error["reason"]) == (403, "Forbidden")
    assert "/namespaces/default/dashboards" in error["message"]
    assert (await api("GET", JOBS.replace("/namespaces/default", "")))[0] == 400
    assert (await api("GET", f"{all_namespaces}?labelSelector=grafana.app/get-trash%3Dtrue"))[0] == 400
    assert (await api("GET", f"{all_namespaces}?watch=true"))[0] == 400


async def test_jobs_are_listed_in_their_current_state(api: Api) -> None:
    """Jobs are listed with selectors and pages. A list of an older version is 410, because only the current state is stored."""
    for name in ("a", "b", "c"):
        await insert_job(api, name, repository=f"repository-of-{name}")
    _, complete = await api("GET", JOBS)
    assert names_of(complete) == ["a", "b", "c"]
    _, first = await api("GET", f"{JOBS}?limit=2")
    assert (names_of(first), first["metadata"]["remainingItemCount"]) == (["a", "b"], 1)
    assert names_of((await api("GET", f"{JOBS}?continue={first['metadata']['continue']}"))[1]) == ["c"]
    assert names_of((await api("GET", f"{JOBS}?limit=1&labelSelector=repository%3Drepository-of-c"))[1]) == ["c"]
    assert names_of((await api("GET", f"{JOBS}?fieldSelector=metadata.name%3Db"))[1]) == ["b"]
    version = complete["metadata"]["resourceVersion"]
    assert names_of((await api("GET", f"{JOBS}?resourceVersion={version}&resourceVersionMatch=Exact"))[1]) == ["a", "b", "c"]
    assert (await api("GET", f"{JOBS}?resourceVersion=1&resourceVersionMatch=Exact"))[0] == 410

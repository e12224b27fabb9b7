"""``dashwright admin import-grafana``: users of Grafana can log in here and find their objects."""

import itertools
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from tests.contract.api.conftest import Api, basic, legacy_text
from tests.servers import grafana_database
from tests.servers.databases import Databases

from dashwright.api.auth import key_material
from dashwright.common.database.pool import Database
from dashwright.common.identity import Role
from dashwright.standalone.importing import run as importing
from dashwright.standalone.importing.report import Outcome, Report
from dashwright.standalone.importing.run import ImportOptions
from dashwright.standalone.importing.source import open_source

CREATED_AT = "2024-03-01 10:00:00"
CHANGED_AT = "2024-04-01 10:00:00"
DASHBOARDS = "/apis/dashboard.grafana.app/v0alpha1/namespaces/{}/dashboards"
TOKEN = key_material.new_token()
SECRET, CHECKSUM = TOKEN.split("_")[1:]  # Grafana hashes the secret with the checksum as the salt.
Rows = dict[str, list[dict[str, Any]]]
ImportRows = Callable[..., Awaitable[Report]]


def row(**columns: Any) -> dict[str, Any]:
    """Return a row with these columns, and with the times of its creation and last change."""
    return {"created": CREATED_AT, "updated": CREATED_AT, **columns}


def dashboard_json(uid: str, title: str, **fields: Any) -> str:
    """Return a dashboard as Grafana stores it."""
    return json.dumps({"id": 99, "uid": uid, "version": 3, "title": title, "tags": ["prod"], "panels": [], **fields})


def grafana_rows() -> Rows:
    """Return the rows of a database of Grafana, by table. Some rows cannot be imported, such as the membership of the missing user 404."""
    return {
        "org": [row(id=1, version=0, name="First"), row(id=7, version=2, name="Seventh", city="Bonn")],
        "user": [
            user_row(1, "root", is_admin=1),
            user_row(5, "vera", name="Vera", org_id=7),
            user_row(9, "sa-robot", is_service_account=1, password="", salt=""),
        ],
        "org_user": [
            row(id=1, org_id=1, user_id=1, role="Admin"),
            row(id=2, org_id=7, user_id=5, role="Viewer"),
            row(id=3, org_id=1, user_id=5, role="Viewer"),
            row(id=4, org_id=1, user_id=9, role="Editor"),
            row(id=5, org_id=1, user_id=404, role="Editor"),
        ],
        "team": [row(id=3, uid="team-three", org_id=1, name="Ops", email="")],
        "team_member": [row(id=1, org_id=1, team_id=3, user_id=5, permission=0)],
        "api_key": [
            row(id=11, org_id=1, name="old", key=key_material.hash_secret("s3cret", "old"), role="Viewer", is_revoked=0),
            row(id=12, org_id=1, name="t", key=key_material.hash_secret(SECRET, CHECKSUM), role="", service_account_id=9),
        ],
        "quota": [
            row(id=1, org_id=7, user_id=0, target="dashboard", limit=50),
            row(id=2, org_id=7, user_id=0, target="strange", limit=50),
        ],
        "data_source": [
            row(
                id=4,
                org_id=1,
                version=6,
                type="prometheus",
                name="Prom",
                access="proxy",
                url="http://p:9090",
                uid="prom",
                is_default=1,
                json_data='{"timeInterval":"30s"}',
                secure_json_data='{"token":"sealed"}',
            )
        ],
        "folder": [
            row(id=1, uid="inner", org_id=1, title="Inner", parent_uid="outer"),
            row(id=2, uid="outer", org_id=1, title="Outer", description="All of it"),
        ],
        "dashboard": [
            row(id=20, version=1, title="Outer", org_id=1, is_folder=1, uid="outer", data="{}", has_acl=1),
            row(id=21, version=1, title="Inner", org_id=1, is_folder=1, uid="inner", data="{}"),
            row(
                id=30,
                version=3,
                title="CPU",
                org_id=1,
                is_folder=0,
                uid="cpu",
                folder_uid="inner",
                data=dashboard_json("cpu", "CPU", refresh="1s"),
                updated=CHANGED_AT,
                created_by=1,
                updated_by=5,
            ),
            row(id=31, version=1, title="By number", org_id=1, uid="num", folder_id=20, data=dashboard_json("num", "By number")),
            row(id=32, version=1, title="Odd", org_id=7, uid="no good/uid", data=dashboard_json("x", "Odd")),
            row(id=33, version=1, title="Broken", org_id=7, uid="broken", data="{no json"),
            row(id=34, version=1, title="Gone", org_id=7, uid="gone", data=dashboard_json("gone", "Gone"), deleted=CREATED_AT),
        ],
        "dashboard_version": [
            version_row(1, generation=1, message="first", title="CPU then"),
            version_row(2, generation=2, message="second", title="CPU between", restored_from=1, parent_version=1),
            version_row(3, generation=3, message="third", title="CPU", parent_version=2),
        ],
        "library_element": [
            row(
                id=40,
                org_id=1,
                folder_uid="outer",
                uid="lib",
                name="Shared",
                kind=1,
                type="stat",
                version=2,
                model='{"type":"stat","title":"Shared","options":{"a":1.10}}',
            ),
            row(id=41, org_id=1, uid="var", name="Variable", kind=2, type="query", version=1, model="{}"),
        ],
        "preferences": [row(id=1, org_id=1, user_id=5, team_id=0, home_dashboard_id=30, theme="dark", json_data="{}")],
        "star": [{"id": 1, "user_id": 5, "dashboard_id": 30, "org_id": 1}, {"id": 2, "user_id": 5, "dashboard_id": 999, "org_id": 1}],
        "role": [
            row(id=1, name="managed:teams:3:permissions", org_id=1),
            row(id=2, name="managed:builtins:editor:permissions", org_id=1),
            row(id=3, name="basic:viewer", org_id=0),
            row(id=4, name="managed:builtins:viewer:permissions", org_id=1),
        ],
        "permission": [
            row(id=1, role_id=1, action="folders:write", scope="folders:uid:outer"),
            row(id=2, role_id=1, action="folders:read", scope="folders:uid:outer"),
            row(id=3, role_id=2, action="dashboards:read", scope="dashboards:uid:num"),
            row(id=4, role_id=3, action="dashboards:read", scope="dashboards:uid:cpu"),
            row(id=5, role_id=4, action="folders:read", scope="folders:uid:outer"),
        ],
    }


def user_row(user_id: int, login: str, **fields: Any) -> dict[str, Any]:
    """Return a user, whose password is ``pw of`` and the login."""
    salt = f"salt of {login}"
    hashed = key_material.hash_secret(f"pw of {login}", salt)
    common = {"id": user_id, "version": 0, "login": login, "email": f"{login}@example.org", "password": hashed, "salt": salt, "rands": "r"}
    return row(**{**common, "org_id": 1, "is_admin": 0, "is_disabled": 0, "is_service_account": 0, "uid": f"u{user_id}", **fields})


def version_row(row_id: int, *, generation: int, message: str, title: str, **fields: Any) -> dict[str, Any]:
    """Return a version of the dashboard ``cpu``, whose id is 30."""
    result = {"id": row_id, "dashboard_id": 30, "version": generation, "message": message, "data": dashboard_json("cpu", title)}
    return {**result, "created": f"2024-03-0{generation} 10:00:00", "created_by": 1, **fields}


@pytest.fixture
def import_rows(database: Database, tmp_path: Path) -> ImportRows:
    """Return a function that imports rows from a new SQLite file and returns the report."""
    file_numbers = itertools.count()

    async def import_rows(rows: Rows, **options: Any) -> Report:
        """Write rows to a SQLite file of their own, import the file and return the report."""
        return await run_import(database, grafana_database.make_sqlite(tmp_path / f"{next(file_numbers)}.db", rows), **options)

    return import_rows


async def run_import(database: Database, source: str, **options: Any) -> Report:
    """Import from a source and return the report."""
    report = Report()
    async with open_source(source) as origin, database.transaction() as connection:
        await importing.run(origin, connection, ImportOptions(**options), report, lambda table, number: None)
    return report


@pytest.fixture
def other_database(_databases: Databases) -> Iterator[str]:
    """Create a second database, whose schema the test creates."""
    with _databases.lend() as url:
        yield url


async def test_users_and_programs_log_in_with_their_credentials(api: Api, import_rows: ImportRows) -> None:
    """Imported passwords, legacy keys and tokens are valid, and ids are kept. The admin that the first start created is replaced."""
    report = await import_rows(grafana_rows())
    status, response = await api("GET", "/api/user", auth=basic("vera", "pw of vera"))
    assert status == 200
    assert response["id"] == 5
    assert response["name"] == "Vera"
    assert response["orgId"] == 7
    assert (await api("GET", "/api/user", auth=basic("vera", "another")))[0] == 401
    assert (await api("GET", "/api/org", auth=basic("root", "pw of root")))[1]["name"] == "First"
    assert (await api("GET", "/api/org", auth="Bearer " + legacy_text("old")))[0] in (200, 403)  # An invalid key is 401.
    assert (await api("GET", f"{DASHBOARDS.format('default')}/cpu", auth="Bearer " + legacy_text("old")))[0] == 200
    assert (await api("GET", f"{DASHBOARDS.format('default')}/cpu", auth=f"Bearer {TOKEN}"))[0] == 200
    assert (await api("GET", "/api/user"))[0] == 401
    assert any("log in as an admin" in notice for notice in report.notices)
    created = await api("POST", "/api/orgs", {"name": "New"}, auth=basic("root", "pw of root"))
    # The next id after the imported organization 7.
    assert created[1]["orgId"] == 8


async def test_a_password_is_hashed_again_at_the_first_login(api: Api, import_rows: ImportRows) -> None:
    """The first login replaces the imported hash, and the password is still valid."""
    await import_rows(grafana_rows())
    for _ in range(2):  # The first login verifies the imported hash, and the second one its replacement.
        assert (await api("GET", "/api/user", auth=basic("vera", "pw of vera")))[0] == 200
    assert (await api.sql("""select password from "user" where id = 5""")).startswith("$argon2id$")


async def test_objects_are_imported_unchanged(api: Api, import_rows: ImportRows) -> None:
    """Nested folders, a library panel, and the body, folder, number, generation and authors of a dashboard are imported unchanged."""
    await import_rows(grafana_rows())
    auth = basic("root", "pw of root")
    _, inner_folder = await api("GET", "/api/folders/inner", auth=auth)
    assert (inner_folder["title"], inner_folder["parentUid"], inner_folder["id"]) == ("Inner", "outer", 21)
    _, response = await api("GET", f"{DASHBOARDS.format('default')}/cpu", auth=auth)
    meta = response["metadata"]
    assert (meta["generation"], meta["creationTimestamp"]) == (3, "2024-03-01T10:00:00Z")
    assert meta["labels"]["grafana.app/deprecatedInternalID"] == "30"
    annotations = meta["annotations"]
    assert (annotations["grafana.app/folder"], annotations["grafana.app/createdBy"], annotations["grafana.app/updatedBy"]) == (
        "inner",
        "user:1",
        "user:5",
    )
    assert response["spec"] == {"title": "CPU", "tags": ["prod"], "panels": [], "refresh": "1s"}
    _, numbered = await api("GET", f"{DASHBOARDS.format('default')}/num", auth=auth)
    assert numbered["metadata"]["annotations"]["grafana.app/folder"] == "outer"
    assert await api.sql("select spec from resource_history h join resource r using (uid) where r.name = 'lib'") == (
        '{"type":"stat","title":"Shared","options":{"a":1.10}}'
    )


async def test_earlier_versions_are_imported(api: Api, import_rows: ImportRows) -> None:
    """The newest versions, up to the limit, are imported with message, title, author and origin."""
    await import_rows(grafana_rows(), versions=1)
    async with api.database.connection() as connection:
        rows = await connection.fetch(
            "select h.generation, h.message, restored_from, parent_version, h.created_by, h.spec::json ->> 'title' as title "
            "from resource_history h join resource r using (uid) where r.name = 'cpu' order by h.generation"
        )
    assert [tuple(row) for row in rows] == [(2, "second", 1, 1, "user:1", "CPU between"), (3, "third", None, 2, "user:5", "CPU")]


async def test_access_rules_are_imported(api: Api, import_rows: ImportRows) -> None:
    """Managed permissions of teams and built-in roles become rules. Permissions of basic roles are ignored."""
    await import_rows(grafana_rows())
    async with api.database.connection() as connection:
        rows = await connection.fetch(
            "select l.name, r.team_id, r.role, r.permission from access_rule r join access_list l using (uid) order by l.name, r.role"
        )
    assert [tuple(row) for row in rows] == [("num", None, "Editor", 1), ("outer", None, "Viewer", 1), ("outer", 3, None, 2)]


async def test_older_access_rules_are_imported(api: Api, import_rows: ImportRows) -> None:
    """Access rules of older versions of Grafana, which refer to folders by id, are imported if the source has no newer rules."""
    legacy_rows = grafana_rows()
    del legacy_rows["role"], legacy_rows["permission"]
    legacy_rows["dashboard_acl"] = [
        row(id=1, org_id=1, dashboard_id=20, user_id=5, permission=4),
        # A default rule of Grafana, which belongs to no organization and is not imported.
        row(id=2, org_id=-1, dashboard_id=-1, role="Viewer", permission=1),
    ]
    await import_rows(legacy_rows)
    async with api.database.connection() as connection:
        rows = await connection.fetch("select l.name, r.user_id, r.permission from access_rule r join access_list l using (uid)")
    assert [tuple(row) for row in rows] == [("outer", 5, 4)]


async def test_rows_that_cannot_be_imported_are_reported(api: Api, import_rows: ImportRows) -> None:
    """Every row that was not imported has a reason. A notice names the new uid of an object whose uid was invalid."""
    report = await import_rows(grafana_rows())
    remarks = {(item.table, item.key): (item.outcome, item.reason) for item in report.remarks}
    assert remarks[("dashboard", "7/broken")][0] is Outcome.REFUSED
    assert remarks[("dashboard", "7/gone")][0] is Outcome.SKIPPED
    assert remarks[("quota", "7/0/strange")][0] is Outcome.SKIPPED
    assert remarks[("org_user", "1/404")][0] is Outcome.SKIPPED
    assert remarks[("library_element", "1/var")][0] is Outcome.SKIPPED
    assert remarks[("star", "5/999")][0] is Outcome.SKIPPED
    assert len(remarks) == 6
    assert report.counts["dashboard"] == {Outcome.IMPORTED: 3, Outcome.REFUSED: 1, Outcome.SKIPPED: 1}
    assert any("'Prom'" in notice and "1 secrets" in notice for notice in report.notices)
    assert any("row-32" in notice for notice in report.notices)


async def test_a_second_run_changes_nothing(api: Api, import_rows: ImportRows) -> None:
    """A second import of the same rows writes no row, version or event."""
    await import_rows(grafana_rows())
    before = await api.sql("select last_value from resource_version")
    report = await import_rows(grafana_rows())
    outcomes = {outcome for counter in report.counts.values() for outcome in counter}
    assert outcomes == {Outcome.UNCHANGED, Outcome.SKIPPED, Outcome.REFUSED}
    assert await api.sql("select last_value from resource_version") == before


async def test_a_second_run_imports_changes(api: Api, import_rows: ImportRows) -> None:
    """Objects that were renamed, saved or moved in Grafana, and not changed in Dashwright, are updated."""
    await import_rows(grafana_rows())
    changed_rows = grafana_rows()
    vera = changed_rows["user"][1]
    vera |= {"name": "Vera the Second", "updated": CHANGED_AT}
    cpu, num = changed_rows["dashboard"][2:4]
    cpu |= {"version": 4, "data": dashboard_json("cpu", "CPU now")}
    changed_rows["dashboard_version"].append(version_row(4, generation=4, message="fourth", title="CPU now"))
    num |= {"folder_id": 21}  # the folder ``inner``
    report = await import_rows(changed_rows)
    assert report.counts["dashboard"][Outcome.UPDATED] == 2
    assert (await api("GET", "/api/user", auth=basic("vera", "pw of vera")))[1]["name"] == "Vera the Second"
    auth = basic("root", "pw of root")
    _, response = await api("GET", f"{DASHBOARDS.format('default')}/cpu", auth=auth)
    assert (response["spec"]["title"], response["metadata"]["generation"]) == ("CPU now", 4)
    _, moved = await api("GET", f"{DASHBOARDS.format('default')}/num", auth=auth)
    assert (moved["metadata"]["annotations"]["grafana.app/folder"], moved["metadata"]["generation"]) == ("inner", 2)


async def test_changes_in_dashwright_are_kept(api: Api, import_rows: ImportRows) -> None:
    """Users and dashboards that were renamed, saved or deleted in Dashwright are kept, although they have changed in Grafana, too."""
    await import_rows(grafana_rows())
    auth = basic("root", "pw of root")
    assert (await api("PUT", "/api/users/5", {"login": "vera", "name": "In Dashwright"}, auth=auth))[0] == 200
    body = {"dashboard": {"uid": "cpu", "title": "In Dashwright"}, "overwrite": True}
    assert (await api("POST", "/api/dashboards/db", body, auth=auth))[0] == 200
    assert (await api("DELETE", "/api/dashboards/uid/num", auth=auth))[0] == 200
    changed_rows = grafana_rows()
    vera = changed_rows["user"][1]
    vera |= {"name": "In Grafana", "updated": CHANGED_AT}
    cpu, num = changed_rows["dashboard"][2:4]
    cpu |= {"version": 9, "data": dashboard_json("cpu", "In Grafana")}
    num |= {"version": 2, "data": dashboard_json("num", "In Grafana")}
    report = await import_rows(changed_rows)
    assert report.counts["dashboard"][Outcome.KEPT] == 2
    assert (await api("GET", "/api/users/5", auth=auth))[1]["name"] == "In Dashwright"
    assert (await api("GET", "/api/dashboards/uid/cpu", auth=auth))[1]["dashboard"]["title"] == "In Dashwright"
    assert (await api("GET", "/api/dashboards/uid/num", auth=auth))[0] == 404


async def test_a_single_organization_can_be_imported(api: Api, import_rows: ImportRows) -> None:
    """With the id of an organization, only the members and objects of this organization are imported."""
    await import_rows(grafana_rows(), org_id=7)
    assert await api.sql("select array_agg(id order by id) from org") == [1, 7]
    assert await api.sql("""select array_agg(login order by login) from "user" """) == ["admin", "vera"]
    assert await api.sql("select array_agg(name) from resource") == ["row-32"]


async def test_objects_of_the_newer_storage_are_reported(import_rows: ImportRows) -> None:
    """The report counts the dashboards and folders of the imported organizations that are in the table ``resource`` only."""
    rows = grafana_rows()
    in_both_tables = [("dashboard.grafana.app", "default", "cpu"), ("folder.grafana.app", "default", "inner")]
    rows["resource"] = [{"group": group, "namespace": namespace, "name": name} for group, namespace, name in in_both_tables]
    assert not [notice for notice in (await import_rows(rows)).notices if "the table resource" in notice]
    in_resource_only = [("dashboard.grafana.app", "org-7", "cpu"), ("folder.grafana.app", "default", "new")]
    rows["resource"] += [{"group": group, "namespace": namespace, "name": name} for group, namespace, name in in_resource_only]
    # The organization 0 selects all organizations.
    for org_id, count in ((0, 2), (7, 1)):
        [notice] = [notice for notice in (await import_rows(rows, org_id=org_id)).notices if "the table resource" in notice]
        assert f"holds {count} dashboards and folders in addition" in notice


async def test_postgres_and_sqlite_are_imported_equally(api: Api, other_database: str, import_rows: ImportRows) -> None:
    """An import from PostgreSQL gives the same report and the same stored objects as one from SQLite."""
    source = await _empty_database(other_database)
    await grafana_database.make_postgres(source, grafana_rows())
    report = await run_import(api.database, source)
    assert report.counts["dashboard"] == {Outcome.IMPORTED: 3, Outcome.REFUSED: 1, Outcome.SKIPPED: 1}
    assert (await api("GET", "/api/user", auth=basic("vera", "pw of vera")))[0] == 200
    repeated = await import_rows(grafana_rows())
    assert not [counter for counter in repeated.counts.values() if counter[Outcome.IMPORTED] or counter[Outcome.UPDATED]]


async def _empty_database(url: str) -> str:
    """Delete the content of a database and return its URL."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("drop schema public cascade; create schema public")
    finally:
        await connection.close()
    return url


async def test_existing_rows_of_the_same_name_are_not_overwritten(api: Api, import_rows: ImportRows) -> None:
    """In a database in use, rows whose id or name exists are rejected."""
    assert (await api("POST", "/api/dashboards/db", {"dashboard": {"uid": "cpu", "title": "In Dashwright"}}))[0] == 200
    report = await import_rows(grafana_rows())
    refused_rows = {(item.table, item.key) for item in report.remarks if item.outcome is Outcome.REFUSED}
    assert {("org", "1"), ("user", "1")} <= refused_rows
    assert (await api("GET", "/api/dashboards/uid/cpu"))[1]["dashboard"]["title"] == "In Dashwright"


async def test_rows_are_not_assigned_to_another_account(api: Api, import_rows: ImportRows) -> None:
    """If the id of an imported account already belongs to a local account, rows of the imported account are not assigned to it.

    Only objects of organization 7, whose id is not in use, are imported.
    """
    # The next user has the id 5, which belongs to vera in the imported rows.
    await api.sql("""select setval(pg_get_serial_sequence('"user"', 'id'), 4)""")
    local_user = await api.person("local", Role.VIEWER)
    tables = ("org_user", "team_member", "api_key", "star", "preferences", "data_source", "resource", "access_rule", "permission")
    before = {table: await api.sql(f"select array_agg(t::text order by t::text) from {table} t") for table in tables}
    report = await import_rows(grafana_rows())
    after = {table: await api.sql(f"select array_agg(t::text order by t::text) from {table} t") for table in tables}
    for table in tables:
        added = set(after[table] or ()) - set(before[table] or ())
        assert not [row for row in added if table != "resource" or "org-7" not in row], (table, added)
    assert [item.reason for item in report.remarks if (item.table, item.key) == ("user", "5")] == ["'vera': its id is in use here"]
    assert (await api("GET", "/api/user/orgs", auth=local_user))[1] == [{"orgId": 1, "name": "Main Org.", "role": "Viewer"}]


async def test_other_databases_are_refused(tmp_path: Path) -> None:
    """A missing file, a file of another type, and a database of another program are refused with the reason."""
    text = tmp_path / "text"
    text.write_text("no database " * 100)
    other = grafana_database.make_sqlite(tmp_path / "other.db", {"org": []})
    for source, expected_message in (
        (str(tmp_path / "none"), "file not found"),
        (str(text), "not a readable SQLite database"),
        (other, "no table user"),
    ):
        with pytest.raises(Exception, match=expected_message):
            async with open_source(source) as origin:
                await importing.row_counts(origin)

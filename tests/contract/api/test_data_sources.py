"""Data sources over HTTP, as existing clients create, read and change them."""

from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs
from tests.contract.api.conftest import Api, StartApi, case_id

from dashwright.common.identity import Role

PATH = "/api/datasources"
NOT_FOUND = (404, {"message": "Data source not found"})
PROMETHEUS = {
    "name": "Prometheus",
    "type": "prometheus",
    "access": "proxy",
    "url": "http://prometheus.example:9090",
    "basicAuth": True,
    "basicAuthUser": "reader",
    "isDefault": True,
    "jsonData": {"httpMethod": "POST", "n": None, "deep": {"list": [1, 2.5, True, None]}},
    "secureJsonData": {"basicAuthPassword": "hunter22"},
}


async def create_data_source(api: Api, **fields: Any) -> Any:
    """Create a data source, whose type is ``x`` unless ``fields`` has a type, and return it."""
    status, body = await api("POST", PATH, {"type": "x", **fields})
    assert (status, body["message"]) == (200, "Datasource added"), body
    return body["datasource"]


async def create_user_with_grants(api: Api, role: Role, *grants: tuple[str, str]) -> str:
    """Create a user with a role and grants, and return its credentials."""
    return await api.person(f"{role}-{len(grants)}", role, *grants)


def names(status_and_body: tuple[int, Any]) -> list[str]:
    """Return the names of listed data sources."""
    status, listing = status_and_body
    assert status == 200, listing
    return [source["name"] for source in listing]


async def test_a_data_source_is_created_and_read(api: Api) -> None:
    """A data source is read by uid, id and name. The list omits some fields, and secrets are only shown as set."""
    status, body = await api("POST", PATH, PROMETHEUS)
    source = body["datasource"]
    assert (status, body) == (200, {"id": source["id"], "name": "Prometheus", "message": "Datasource added", "datasource": source})
    assert source == {
        **{key: value for key, value in PROMETHEUS.items() if key != "secureJsonData"},
        "id": source["id"],
        "uid": source["uid"],
        "orgId": 1,
        "typeLogoUrl": "public/app/plugins/datasource/prometheus/img/prometheus_logo.svg",
        "user": "",
        "database": "",
        "withCredentials": False,
        "secureJsonFields": {"basicAuthPassword": True},
        "apiVersion": "",
        "version": 1,
        "readOnly": False,
    }
    assert len(source["uid"]) == 14  # the length of every generated uid
    for path in (f"uid/{source['uid']}", str(source["id"]), "name/Prometheus"):
        assert await api("GET", f"{PATH}/{path}") == (200, source)
    assert await api("GET", f"{PATH}/id/Prometheus") == (200, {"id": source["id"]})
    fields_not_listed = {"basicAuthUser", "withCredentials", "secureJsonFields", "version", "apiVersion"}
    listed = {key: value for key, value in source.items() if key not in fields_not_listed} | {"typeName": "Prometheus"}
    assert await api("GET", PATH) == (200, [listed])
    assert await api("GET", f"{PATH}/") == (200, [listed])


async def test_a_data_source_needs_a_name_and_a_type_only(api: Api) -> None:
    """A data source needs only a name and a type.

    Unlisted properties have no effect, names of properties match regardless of case, and null counts as missing.
    """
    body = {"NAME": "a", "type": "loki", "uid": None, "id": 77, "orgId": 9, "readOnly": True, "version": 5, "password": "x", "url": None}
    source = (await api("POST", PATH, body))[1]["datasource"]
    defaults = {key: source[key] for key in ("orgId", "readOnly", "version", "access", "url", "jsonData", "secureJsonFields")}
    assert defaults == {"orgId": 1, "readOnly": False, "version": 1, "access": "proxy", "url": "", "jsonData": {}, "secureJsonFields": {}}
    assert source["id"] != 77
    assert source["typeLogoUrl"] == "public/img/icn-datasource.svg"


@pytest.mark.parametrize(
    ("given_type", "stored_type", "type_name"),
    [
        ("testdata", "grafana-testdata-datasource", "TestData"),
        ("postgres", "grafana-postgresql-datasource", "PostgreSQL"),
        ("my-own-thing", "my-own-thing", "my-own-thing"),
    ],
)
async def test_a_former_name_of_a_type_is_replaced(api: Api, given_type: str, stored_type: str, type_name: str) -> None:
    """The former name of a type is replaced by the present name, and an unknown type is kept."""
    source = await create_data_source(api, name="n", type=given_type)
    assert source["type"] == stored_type
    assert (await api("GET", PATH))[1][0]["typeName"] == type_name


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": None}, "name: Field required"),
        ({"name": " "}, "name: "),
        ({"name": "x" * 191}, "name: "),
        ({"name": "a\0b"}, "name: "),
        ({"type": ""}, "type: "),
        ({"uid": "a b"}, "uid: "),
        ({"uid": "x" * 41}, "uid: "),
        ({"access": "browser"}, "access: Input should be 'proxy' or 'direct'"),
        ({"basicAuth": "yes"}, "basicAuth: "),
        ({"jsonData": []}, "jsonData: "),
        ({"jsonData": {"a": [{"b": 2**64}]}}, "jsonData: Value error, must not contain an integer beyond 64 bits"),
        ({"secureJsonData": {"p": 5}}, "secureJsonData.p: "),
        ({"secureJsonData": {"": "x"}}, "secureJsonData"),
        ({"url": "x" * 2049}, "url: "),
        ({"url": "localhost:9090"}, "has no scheme; write http:// or https:// before it"),
        ({"url": "ftp://host"}, "is accessed over http:// or https://"),
        ({"url": "http://"}, "names no host"),
        ({"url": "http://host:99999"}, "url is invalid"),
        ({"url": "http://[::1"}, "url is invalid"),
        ({"url": "http://a b"}, "contains whitespace"),
        ({"url": "http://me:hunter22@host"}, "secureJsonData.basicAuthPassword"),
        ({"type": "postgres", "url": "postgres://me:hunter22@host/db"}, "url of PostgreSQL must be host:port"),
        ({"type": "postgres", "url": "me:hunter22@host"}, "secureJsonData.password"),
    ],
    ids=case_id,
)
async def test_an_invalid_data_source_is_refused(api: Api, fields: dict[str, Any], message: str) -> None:
    """An invalid field is a 400 with the reason, for creation and update. Nothing is stored, and no secret is returned."""
    body = {**PROMETHEUS, **fields}
    await create_data_source(api, name="stored", uid="stored")
    for response in (await api("POST", PATH, body), await api("PUT", f"{PATH}/uid/stored", body)):
        assert response[0] == 400, response
        assert message in response[1]["message"]
        assert "hunter22" not in orjson.dumps(response[1]).decode()
    assert names(await api("GET", PATH)) == ["stored"]


async def test_only_addresses_for_http_are_urls(api: Api) -> None:
    """The address of a data source must be a URL only if its type is queried over HTTP. Surrounding blanks are removed."""
    assert (await create_data_source(api, name="p", type="postgres", url=" db:5432 "))["url"] == "db:5432"
    prometheus = await create_data_source(api, name="q", type="prometheus", url=" https://[::1]:9090/p/?a=b ")
    assert prometheus["url"] == "https://[::1]:9090/p/?a=b"


async def test_names_and_uids_are_unique_in_an_organization(api: Api) -> None:
    """A duplicate name or uid gets 409. Another organization may use the same name and uid, and does not see this data source."""
    await create_data_source(api, name="A", uid="a")
    await create_data_source(api, name="B", uid="b")
    same_name = {"message": "data source with the same name already exists"}
    same_uid = {"message": "data source with the same uid already exists"}
    assert await api("POST", PATH, {"name": "A", "type": "x"}) == (409, same_name)
    assert await api("POST", PATH, {"name": "C", "type": "x", "uid": "a"}) == (409, same_uid)
    for fields, expected_message in (({"name": "A"}, same_name), ({"name": "B", "uid": "a"}, same_uid)):
        assert await api("PUT", f"{PATH}/uid/b", {"type": "x", **fields}) == (
            409,
            {"message": f"Failed to update datasource: {expected_message['message']}"},
        )
    org_id = await api.organization("Second")
    await api.sql("insert into org_user (org_id, user_id, role) values ($1, 1, 'Admin')", org_id)
    in_other_organization = {"X-Grafana-Org-Id": str(org_id)}
    assert await api("GET", f"{PATH}/uid/a", headers=in_other_organization) == NOT_FOUND
    assert (await api("POST", PATH, {"name": "A", "type": "x", "uid": "a"}, headers=in_other_organization))[0] == 200
    assert names(await api("GET", PATH)) == ["A", "B"]


async def test_an_update_keeps_secrets(api: Api) -> None:
    """An update keeps uid, URL, basic-auth user and secrets that are absent, deletes an empty secret and resets other fields."""
    uid = (await create_data_source(api, **{**PROMETHEUS, "secureJsonData": {"basicAuthPassword": "hunter22", "token": "t"}}))["uid"]
    status, body = await api("PUT", f"{PATH}/uid/{uid}", {"name": "P", "type": "prometheus", "secureJsonData": {"token": "", "x": None}})
    source = body["datasource"]
    assert status == 200
    assert body["message"] == "Datasource updated"
    assert body["name"] == "P"
    assert body["id"] == source["id"]
    remaining = (source["uid"], source["url"], source["basicAuthUser"], source["secureJsonFields"])
    assert remaining == (uid, PROMETHEUS["url"], "reader", {"basicAuthPassword": True})
    assert source["basicAuth"] is False
    assert source["isDefault"] is False
    assert source["jsonData"] == {}
    assert source["version"] == 2
    body = {"name": "P", "type": "prometheus", "url": "", "basicAuthUser": "", "uid": "other"}
    source = (await api("PUT", f"{PATH}/{source['id']}", body))[1]["datasource"]
    assert source["uid"] == "other"
    assert source["url"] == ""
    assert source["basicAuthUser"] == ""
    assert source["version"] == 3
    assert source["secureJsonFields"] == {"basicAuthPassword": True}
    assert await api("GET", f"{PATH}/uid/{uid}") == NOT_FOUND


async def test_an_update_of_an_old_version_is_rejected(api: Api) -> None:
    """An update with an old version is rejected, and an update without a version succeeds."""
    source = await create_data_source(api, name="n")
    path, body = f"{PATH}/uid/{source['uid']}", {"name": "n", "type": "x"}
    assert (await api("PUT", path, {**body, "version": 1}))[1]["datasource"]["version"] == 2
    result = {"message": "Datasource has already been updated by someone else. Please reload and try again"}
    assert await api("PUT", path, {**body, "version": 1}) == (409, result)
    assert (await api("PUT", path, body))[1]["datasource"]["version"] == 3


async def test_one_data_source_is_the_default(api: Api) -> None:
    """The data source that last became the default is the only default. Without a default, clients get an empty name."""
    first, second = await create_data_source(api, name="A", isDefault=True), await create_data_source(api, name="B", isDefault=True)
    assert [source["isDefault"] for source in (await api("GET", PATH))[1]] == [False, True]
    await api("PUT", f"{PATH}/{first['id']}", {"name": "A", "type": "x", "isDefault": True})
    assert [source["isDefault"] for source in (await api("GET", PATH))[1]] == [True, False]
    assert (await api("GET", "/api/frontend/settings"))[1]["defaultDatasource"] == "A"
    await api("DELETE", f"{PATH}/{first['id']}")
    assert (await api("GET", "/api/frontend/settings"))[1]["defaultDatasource"] == ""
    assert (await api("GET", f"{PATH}/{second['id']}"))[1]["isDefault"] is False


async def test_a_data_source_is_deleted_in_every_way(api: Api) -> None:
    """A data source can be deleted by name, uid or id, and is not found afterwards.

    The responses to deletes by name and uid have its id.
    """
    result = "Data source deleted"
    first, second, third = (
        await create_data_source(api, name="a/b", uid="a"),
        await create_data_source(api, name="b", uid="b"),
        await create_data_source(api, name="c", uid="c"),
    )
    assert await api("DELETE", f"{PATH}/name/a%2Fb") == (200, {"message": result, "id": first["id"]})
    assert await api("DELETE", f"{PATH}/uid/b") == (200, {"message": result, "id": second["id"]})
    assert await api("DELETE", f"{PATH}/{third['id']}") == (200, {"message": result})
    body = {"name": "c", "type": "x"}
    for path in ("name/c", "uid/c", str(third["id"]), "uid/" + "x" * 500, str(2**63 - 1), "-1"):
        # A data source cannot be updated by name.
        methods = ("GET", "DELETE") if path.startswith("name") else ("GET", "PUT", "DELETE")
        for method in methods:
            assert await api(method, f"{PATH}/{path}", body if method == "PUT" else None) == NOT_FOUND
    assert await api("GET", f"{PATH}/id/c") == NOT_FOUND
    assert await api("GET", f"{PATH}/9x") == (400, {"message": "id is invalid"})
    assert await api("GET", PATH) == (200, [])


async def test_a_grant_is_limited_to_its_data_source(api: Api) -> None:
    """A grant on one data source permits requests by its uid, id and name, and for no other data source. The list omits the others."""
    granted_id, other_id = await create_data_source(api, name="mine", uid="m"), await create_data_source(api, name="other", uid="o")
    reader = await create_user_with_grants(
        api, Role.NONE, ("datasources:read", "datasources:uid:m"), ("datasources:write", "datasources:uid:m")
    )
    assert names(await api("GET", PATH, auth=reader)) == ["mine"]
    body = {"name": "mine", "type": "x"}
    for path in ("uid/m", str(granted_id["id"]), "name/mine", "id/mine"):
        assert (await api("GET", f"{PATH}/{path}", auth=reader))[0] == 200
    for path in ("uid/o", str(other_id["id"]), "name/other", "id/other", "uid/none", "9007", "name/none", "id/none"):
        assert (await api("GET", f"{PATH}/{path}", auth=reader))[0] == 403, path
    assert (await api("PUT", f"{PATH}/{granted_id['id']}", body, auth=reader))[0] == 200
    for path in ("uid/o", str(other_id["id"]), "uid/none", "9007"):
        assert (await api("PUT", f"{PATH}/{path}", body, auth=reader))[0] == 403, path
    assert (await api("DELETE", f"{PATH}/uid/m", auth=reader))[1]["title"] == "Access denied"
    assert (await api("POST", PATH, {"name": "n", "type": "x"}, auth=reader))[0] == 403


async def test_viewers_query_and_do_not_read_data_sources(api: Api) -> None:
    """Viewers and Editors may query data sources, but read neither a data source nor the list."""
    await create_data_source(api, name="n", uid="n")
    for role in (Role.VIEWER, Role.EDITOR):
        caller = await create_user_with_grants(api, role)
        for path in ("", "/uid/n", "/name/n", "/id/n"):
            status, error = await api("GET", PATH + path, auth=caller)
            assert (status, error["message"].rpartition(": ")[2]) == (403, "datasources:read")
        assert set((await api("GET", "/api/frontend/settings", auth=caller))[1]["datasources"]) == {"n"}


async def test_grants_by_id_or_name_become_grants_by_uid(api: Api) -> None:
    """A grant by id or name is stored with the uid of the data source. A grant for an unknown data source is rejected."""
    source = await create_data_source(api, name="A: b*", uid="a")
    await api.person("anna", Role.NONE)
    user_id = await api.sql("""select id from "user" where login = 'anna'""")
    path = f"/api/access-control/users/{user_id}/permissions"
    for scope in (f"datasources:id:{source['id']}", "datasources:name:A: b*", "datasources:uid:a"):
        assert (await api("PUT", path, {"permissions": [{"action": "datasources:query", "scope": scope}]}))[0] == 200, scope
        assert (await api("GET", path))[1]["permissions"] == [{"action": "datasources:query", "scope": "datasources:uid:a"}]
    for scope in ("datasources:id:9007", "datasources:name:none"):
        status, error = await api("PUT", path, {"permissions": [{"action": "datasources:query", "scope": scope}]})
        assert status == 400
        assert scope in error["message"]
    await api("DELETE", f"{PATH}/uid/a")
    assert await api("GET", path) == (200, {"permissions": []})


async def test_access_is_returned_on_request(api: Api) -> None:
    """The caller's actions on a data source are returned on request, with the data source itself and in the list."""
    await create_data_source(api, name="n", uid="n")
    all_actions = dict.fromkeys(("datasources:read", "datasources:write", "datasources:delete", "datasources:query"), True)
    assert (await api("GET", f"{PATH}/uid/n?accesscontrol=true"))[1]["accessControl"] == all_actions
    reader = await create_user_with_grants(api, Role.NONE, ("datasources:read", "datasources:uid:n"))
    assert (await api("GET", f"{PATH}?accesscontrol=true", auth=reader))[1][0]["accessControl"] == {"datasources:read": True}
    assert "accessControl" not in (await api("GET", f"{PATH}/uid/n"))[1]


async def test_clients_list_the_data_sources_they_may_query(api: Api) -> None:
    """The list for queries has names and query settings, without fields that need read access."""
    uid = (await create_data_source(api, **PROMETHEUS))["uid"]
    await create_data_source(api, name="direct", uid="d", access="direct", url="https://host")
    body = (await api("GET", "/api/frontend/settings", auth=await create_user_with_grants(api, Role.VIEWER)))[1]
    assert body["defaultDatasource"] == "Prometheus"
    assert body["datasources"]["Prometheus"] == {
        "id": body["datasources"]["Prometheus"]["id"],
        "uid": uid,
        "type": "prometheus",
        "name": "Prometheus",
        "url": f"/api/datasources/proxy/uid/{uid}",
        "isDefault": True,
        "access": "proxy",
        "jsonData": PROMETHEUS["jsonData"],
        "readOnly": False,
    }
    assert body["datasources"]["direct"]["url"] == "https://host"
    limited_caller = await create_user_with_grants(api, Role.NONE, ("datasources:query", "datasources:uid:d"))
    body = (await api("GET", "/api/frontend/settings", auth=limited_caller))[1]
    assert (set(body["datasources"]), body["defaultDatasource"]) == ({"direct"}, "")


async def test_no_secret_leaves_the_gateway(start_api: StartApi) -> None:
    """No response, audit event or log line contains a secret. The audit names the secrets that were set or deleted."""
    with capture_logs() as logged:
        api = await start_api(log_level="debug")
        uid = (await create_data_source(api, **PROMETHEUS))["uid"]
        valid_body = {"name": "n", "type": "x", "secureJsonData": {"token": "hunter22", "basicAuthPassword": ""}}
        invalid_secret = {"name": "n", "type": "x", "secureJsonData": {"token": ["hunter22"]}}
        invalid_uid = {"name": "n", "type": "x", "uid": "a b", "secureJsonData": {"token": "hunter22"}}
        for body in (valid_body, invalid_secret, invalid_uid):
            assert "hunter22" not in str(await api("PUT", f"{PATH}/uid/{uid}", body))
        assert "hunter22" not in str(await api("GET", PATH))
        await api("DELETE", f"{PATH}/uid/{uid}")
        events = (await api("GET", "/api/audit"))[1]["events"]
    assert "hunter22" not in str(logged)
    source_id = events[0]["object"].removeprefix("data-source:")
    result = [(event["action"], event["object"], event["details"]) for event in events if event["action"].startswith("data-source")]
    record = {"uid": uid, "name": "n", "type": "x"}
    assert result == [
        ("data-source.delete", f"data-source:{source_id}", record),
        ("data-source.update", f"data-source:{source_id}", {**record, "secrets": ["basicAuthPassword", "token"]}),
        (
            "data-source.create",
            f"data-source:{source_id}",
            {"uid": uid, "name": "Prometheus", "type": "prometheus", "secrets": ["basicAuthPassword"]},
        ),
    ]


async def test_data_sources_are_limited(start_api: StartApi) -> None:
    """A data source above the quota gets 403 with the quota, and a large body gets 413. Quota and statistics count data sources."""
    api = await start_api(quota_defaults="org_data_source=1")
    await create_data_source(api, name="a")
    status, error = await api("POST", PATH, {"name": "b", "type": "x"})
    assert (status, error["message"], error["extra"]) == (
        403,
        "data_source Quota reached",
        {"scope": "org", "target": "data_source", "limit": 1, "used": 1},
    )
    records = (await api("GET", "/api/org/quotas"))[1]
    assert [record["used"] for record in records if record["target"] == "data_source"] == [1]
    assert (await api("GET", "/api/admin/stats"))[1]["datasources"] == 1
    large_body = {"name": "c", "type": "x", "jsonData": {"x": "y" * 300_000}}
    assert (await api("POST", PATH, large_body))[0] == 413

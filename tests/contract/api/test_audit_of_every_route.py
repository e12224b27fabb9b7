"""Audit events of every route: a call of a route that changes something writes one event, whether it succeeds or is refused."""

import itertools
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from tests.contract.api.conftest import ADMIN, PASSWORD, Api, StartApi, basic, legacy_text
from tests.contract.api.preferred_versions import in_preferred_versions
from tests.contract.api.repositories import FakeJobsWorker
from tests.contract.api.test_authorization_matrix import address
from tests.signer import SIGNER

from dashwright.api.http.routing import PUBLIC, Route
from dashwright.common.identity import Role
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import RpcServer

READ_METHODS: Final = frozenset({"GET", "HEAD"})

# These routes change nothing: they read data, or return 410 as POST /api/auth/keys does, which Grafana has removed.
CHANGES_NOTHING: Final = frozenset(
    {
        "POST /api/ds/query",
        "POST /api/dashboards/interpolate",
        "POST /api/panels/query",
        "POST /api/panels/validate",
        "POST /api/auth/keys",
        "POST /api/search",
        "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "POST /apis/provisioning.grafana.app/v0alpha1/namespaces/{namespace}/repositories/{name}/test",
    }
)

# Forwarded to data sources: tests/contract/api/test_data_source_proxy.py has the events.
FORWARDED: Final = frozenset(
    f"POST /api/datasources/{path}/{{path:rest}}" for path in ("proxy/uid/{uid}", "proxy/{id}", "uid/{uid}/resources", "{id}/resources")
)

# All of these requests are refused in the same way: alerting is not part of this product.
REFUSED_ROUTES: Final = frozenset(
    f"{method} /api/{root}/{{path:rest}}"
    for method in ("POST", "PUT", "PATCH", "DELETE")
    for root in ("v1/provisioning", "ruler", "alertmanager")
)

# Git hosts send these requests with a signature; tests/contract/api/test_webhooks.py tests their events.
SIGNED_ROUTES: Final = frozenset({"POST /apis/provisioning.grafana.app/v0alpha1/namespaces/{namespace}/repositories/{name}/webhook"})

#: The values of path parameters by name, and further values that later functions use, such as the ``login`` of a created user.
CreatedValues = dict[str, Any]
#: Creates the object that a parameter of the path names, and returns the parameter's value. Receives the values of earlier parameters.
CreateValue = Callable[[Api, CreatedValues], Awaitable[Any]]

_numbers = itertools.count(1)


def unused_name(prefix: str) -> str:
    """Return the prefix with a number that no other name has."""
    return f"{prefix}{next(_numbers)}"


async def organization(api: Api, _: CreatedValues) -> int:
    """Create an organization and return its id."""
    return await api.organization(unused_name("Org "))


async def user(api: Api, created: CreatedValues) -> int:
    """Create a user, note their login as ``login``, and return their id. A second user is the Admin of the same organization."""
    created["login"] = unused_name("user")
    org_id = created.get("org_id", 1)
    await api.person(unused_name("boss"), Role.ADMIN, org_id=org_id)
    await api.person(created["login"], Role.VIEWER, org_id=org_id)
    user_id: int = await api.sql("""select id from "user" where login = $1""", created["login"])
    return user_id


async def other_organization(api: Api, created: CreatedValues) -> int:
    """Create a user, whose login is noted as ``login``, and return the id of an organization of which the user is not a member."""
    created["login"] = unused_name("outsider")
    await api.person(created["login"], Role.VIEWER, org_id=await api.organization(unused_name("Org ")))
    return await api.organization(unused_name("Org "))


async def login(api: Api, created: CreatedValues) -> str:
    """Create a user and return their login."""
    await user(api, created)
    return str(created["login"])


async def account(api: Api, _: CreatedValues) -> int:
    """Create a service account and return its id."""
    return await api.account(unused_name("robot"))


async def token(api: Api, created: CreatedValues) -> int:
    """Create a token of the service account that was noted as ``id``, and return its id."""
    return (await api.token(created["id"], unused_name("token")))[0]


async def key(api: Api, _: CreatedValues) -> int:
    """Create a legacy key and return its id."""
    return await api.legacy_key(unused_name("key"))


async def team(api: Api, _: CreatedValues) -> int:
    """Create a team and return its id."""
    return int((await api("POST", "/api/teams", {"name": unused_name("team")}))[1]["teamId"])


async def team_member(api: Api, created: CreatedValues) -> int:
    """Create a user, add them to the team that was noted as ``team_id``, and return their id."""
    user_id = await user(api, created)
    assert (await api("POST", f"/api/teams/{created['team_id']}/members", {"userId": user_id}))[0] == 200
    return user_id


async def data_source(api: Api, _: CreatedValues) -> Any:
    """Create a data source whose uid is its name."""
    uid = unused_name("source")
    status, created = await api("POST", "/api/datasources", {"uid": uid, "name": uid, "type": "other"})
    assert status == 200, created
    return created


async def source_uid(api: Api, created: CreatedValues) -> str:
    """Create a data source and return its uid, which is also its name."""
    return str((await data_source(api, created))["name"])


async def source_id(api: Api, created: CreatedValues) -> int:
    """Create a data source and return its id."""
    return int((await data_source(api, created))["id"])


async def dashboard(api: Api, _: CreatedValues) -> str:
    """Create a dashboard and return its uid."""
    uid = unused_name("dashboard")
    assert (await api("POST", "/api/dashboards/db", {"dashboard": {"uid": uid, "title": uid}}))[0] == 200
    return uid


async def changed_dashboard(api: Api, created: CreatedValues) -> str:
    """Create a dashboard with two versions and return its uid."""
    uid = await dashboard(api, created)
    body = {"dashboard": {"uid": uid, "title": "Changed"}, "overwrite": True}
    assert (await api("POST", "/api/dashboards/db", body))[0] == 200
    return uid


async def deleted_dashboard(api: Api, created: CreatedValues) -> str:
    """Create a dashboard, delete it and return its uid."""
    uid = await dashboard(api, created)
    assert (await api("DELETE", f"/api/dashboards/uid/{uid}"))[0] == 200
    return uid


async def id_of_dashboard(api: Api, uid: str) -> int:
    """Return the id of a dashboard, by which older clients name it."""
    return int(await api.sql("select number from resource where resource = 'dashboards' and name = $1", uid))


async def dashboard_id(api: Api, created: CreatedValues) -> int:
    """Create a dashboard and return its id."""
    return await id_of_dashboard(api, await dashboard(api, created))


async def changed_dashboard_id(api: Api, created: CreatedValues) -> int:
    """Create a dashboard with two versions and return its id."""
    return await id_of_dashboard(api, await changed_dashboard(api, created))


async def panel(api: Api, _: CreatedValues) -> str:
    """Create a library panel and return its name."""
    name = unused_name("panel")
    created = {"metadata": {"name": name}, "spec": PANEL}
    assert (await api("POST", PANELS.format(namespace="default"), created))[0] == 201
    return name


async def annotation(api: Api, _: CreatedValues) -> int:
    """Create an annotation and return its id."""
    status, created = await api("POST", "/api/annotations", {"text": "Deployed"})
    assert status == 200, created
    return int(created["id"])


async def snapshot(api: Api, _: CreatedValues) -> str:
    """Create a snapshot and return its key."""
    status, created = await api("POST", "/api/snapshots", {"dashboard": {"title": "S"}})
    assert status == 200, created
    return str(created["key"])


async def playlist(api: Api, _: CreatedValues) -> str:
    """Create a playlist and return its uid."""
    status, created = await api("POST", "/api/playlists", PLAYLIST)
    assert status == 200, created
    return str(created["uid"])


async def history_entry(api: Api, _: CreatedValues) -> str:
    """Add a query to the query history and return the uid of the entry."""
    status, created = await api("POST", "/api/query-history", HISTORY_ENTRY)
    assert status == 200, created
    return str(created["result"]["uid"])


async def folder(api: Api, _: CreatedValues) -> str:
    """Create a folder and return its uid."""
    uid = unused_name("folder")
    assert (await api("POST", "/api/folders", {"uid": uid, "title": uid}))[0] == 200
    return uid


def repository_named(name: str, root: Path) -> Any:
    """Return the manifest of a local repository whose files are in a directory below the root."""
    sync = {"enabled": True, "target": "folder", "intervalSeconds": 0}
    spec = {"title": name, "workflows": ["write"], "type": "local", "local": {"path": str(root / name)}, "sync": sync}
    return {"metadata": {"name": name}, "spec": spec}


async def repository(api: Api, _: CreatedValues) -> str:
    """Create a repository that was healthy just now, and return its name."""
    name = unused_name("repository")
    status, created = await api("POST", f"{PROVISIONING}/repositories", repository_named(name, api.data))
    assert status == 201, created
    statement = (
        "update resource set status = jsonb_set(status::jsonb, '{health}', jsonb_build_object('healthy', true, 'checked', $2::bigint))"
    )
    await api.sql(f"{statement} where name = $1", name, int(time.time() * 1000))
    return name


async def synced_repository(api: Api, _: CreatedValues) -> str:
    """Create a healthy repository on a git host, with a synced commit to roll back to, and return its name."""
    name = unused_name("repository")
    manifest = repository_named(name, api.data)
    manifest["spec"] |= {"type": "githost", "githost": {"url": "https://git.example/team.git"}}
    del manifest["spec"]["local"]
    assert (await api("POST", f"{PROVISIONING}/repositories", manifest))[0] == 201
    health = {"health": {"healthy": True, "checked": int(time.time() * 1000)}}
    uid = await api.sql("update resource set status = $2 where name = $1 returning uid", name, json.dumps(health))
    await api.sql("insert into repository_revision (uid, ref, at) values ($1, $2, now()) returning 1", uid, "0" * 40)
    return name


async def job(api: Api, created: CreatedValues) -> str:
    """Submit a sync of a new repository and return the name of the job."""
    status, body = await api("POST", f"{PROVISIONING}/repositories/{await repository(api, created)}/sync")
    assert status == 202, body
    return str(body["metadata"]["name"])


EVALUATION: Final = {"panel": {"type": "timeseries", "targets": [{"refId": "A", "type": "math", "expression": "1"}]}}


async def evaluation(api: Api, _: CreatedValues) -> str:
    """Submit an evaluation and return its name."""
    status, body = await api("POST", f"{EVALUATIONS}/evaluations", {"metadata": {"name": unused_name("evaluation")}, "spec": EVALUATION})
    assert status == 202, body
    return str(body["metadata"]["name"])


async def dead_letter(api: Api, _: CreatedValues) -> str:
    """Insert a dead letter and return its name."""
    name: str = await api.sql(
        """
        insert into dead_letter (name, namespace, server_only, delivery_hash, routing_key, exchange, queue, reason, headers,
            removed_headers, content_type, body, body_bytes, obstacle, received_at)
        values ($1, 'default', false, convert_to($1, 'utf8'), 'submit.default', 'dashwright.jobs', 'dashwright.jobs.submit', 'refused',
            '{}', '{}', '', '{}', 2, '', now())
        returning name
        """,
        unused_name("letter"),
    )
    return name


@dataclass(frozen=True)
class CallTemplate:
    """A call that succeeds once its objects are created."""

    #: The body, or a function that returns it for the created values.
    body: Any = None
    #: The value of each path parameter, or the function that creates it.
    created: Mapping[str, CreateValue | str | int] = field(default_factory=dict)
    #: Whether the created user sends the call, instead of the server admin.
    as_created_user: bool = False
    #: A template like the path.
    query: str = ""


def template_selecting(make: CreateValue) -> CallTemplate:
    """Return a call to a collection that selects one object."""
    return CallTemplate(created={"name": make}, query="?fieldSelector=metadata.name={name}")


def template(body: Any = None, *, as_created_user: bool = False, **created: CreateValue | str | int) -> CallTemplate:
    """Return a call with a body and the values of its path parameters."""
    return CallTemplate(body, created, as_created_user)


def template_naming(name: str, make: CreateValue, body: Callable[[CreatedValues], Any], **created: CreateValue | str | int) -> CallTemplate:
    """Return a call whose body names the object that ``make`` creates."""
    return CallTemplate(body, {**created, name: make})


DASHBOARDS: Final = "/apis/dashboard.grafana.app/v2alpha1/namespaces/{namespace}/dashboards"
PANELS: Final = DASHBOARDS.replace("dashboards", "librarypanels")
FOLDERS: Final = "/apis/folder.grafana.app/v0alpha1/namespaces/{namespace}/folders"
PLAYLISTS: Final = "/apis/playlist.grafana.app/v1/namespaces/{namespace}/playlists"
PROVISIONING: Final = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default"
BATCH: Final = "/apis/jobs.dashwright.io/v0alpha1/namespaces/{namespace}/batches/{name}"
DEAD_LETTERS: Final = "/apis/jobs.dashwright.io/v0alpha1/namespaces/{namespace}/deadletters"
EVALUATIONS: Final = "/apis/expressions.dashwright.io/v0alpha1/namespaces/default"
REPOSITORY: Final = "/apis/provisioning.grafana.app/v0alpha1/namespaces/{namespace}/repositories/{name}"
PLAYLIST: Final = {"name": "P", "interval": "5m", "items": []}
OTHER_PLAYLIST: Final = {"spec": {"title": "Other", "interval": "5m", "items": []}}
HISTORY_ENTRY: Final[Mapping[str, Any]] = {"datasourceUid": "prom", "queries": []}
ADDRESS: Final = {"address1": "Street 1"}
VIEWER: Final = {"role": "Viewer"}
GRANTS: Final = {"permissions": [{"action": "teams:read"}]}
TITLED: Final = {"spec": {"title": "T"}}
PANEL: Final = {"title": "P", "type": "text", "options": {}, "fieldConfig": {}}
OTHER_PANEL: Final = {"spec": {**PANEL, "title": "Other"}}
THEME: Final = {"theme": "dark"}


def new_object(_: CreatedValues) -> Any:
    """Return an object of any kind that needs only a title."""
    return {"metadata": {"name": unused_name("object")}, **TITLED}


def new_panel(_: CreatedValues) -> Any:
    """Return a new library panel."""
    return {"metadata": {"name": unused_name("object")}, "spec": PANEL}


async def batch(api: Api, _: CreatedValues) -> str:
    """Create an empty batch and return its name."""
    name = unused_name("batch")
    body = {"metadata": {"name": name}, "spec": {}}
    assert (await api("POST", BATCH.format(namespace="default", name="").rstrip("/"), body))[0] == 201
    return name


async def failed_batch(api: Api, created: CreatedValues) -> str:
    """Create a batch with an item that failed, and return its name."""
    name = await batch(api, created)
    columns = "(batch, index, id, kind, spec, state, status)"
    item = "select uid, 0, 'a', 'Evaluation', '{}', 'error', '{}' from batch where name = $1"
    await api.sql(f"insert into batch_item {columns} {item}", name)
    await api.sql("update batch set total = 1, error = 1 where name = $1", name)
    return name


def new_source(_: CreatedValues) -> Any:
    """Return a new data source."""
    return {"name": unused_name("source"), "type": "other"}


#: A successful call of each changing route, by method and path.
TEMPLATES: Final[Mapping[str, CallTemplate]] = {
    f"POST {DASHBOARDS}": template(new_object),
    f"DELETE {DASHBOARDS}/{{name}}": template(name=dashboard),
    f"POST {PANELS}": template(new_panel),
    f"DELETE {PANELS}/{{name}}": template(name=panel),
    f"POST {FOLDERS}": template(new_object),
    f"DELETE {FOLDERS}/{{name}}": template(name=folder),
    f"PATCH {DASHBOARDS}/{{name}}": template(TITLED, name=dashboard),
    f"PATCH {PANELS}/{{name}}": template(TITLED, name=panel),
    f"PATCH {FOLDERS}/{{name}}": template(TITLED, name=folder),
    f"PATCH {REPOSITORY}": template(TITLED, name=repository),
    f"PUT {REPOSITORY}/status": template({"status": {"observedGeneration": 7}}, name=repository),
    f"PATCH {REPOSITORY}/status": template({"status": {"observedGeneration": 7}}, name=repository),
    f"DELETE {DASHBOARDS}": template_selecting(dashboard),
    f"DELETE {PANELS}": template_selecting(panel),
    f"DELETE {FOLDERS}": template_selecting(folder),
    f"DELETE {REPOSITORY.removesuffix('/{name}')}": template_selecting(repository),
    f"PUT {DASHBOARDS}/{{name}}": template(TITLED, name=dashboard),
    f"PUT {PANELS}/{{name}}": template(OTHER_PANEL, name=panel),
    f"PUT {FOLDERS}/{{name}}": template(TITLED, name=folder),
    f"PUT {REPOSITORY}": template_naming(
        "name", repository, lambda created: {"spec": {**repository_named(created["name"], created["data"])["spec"], "title": "T"}}
    ),
    f"POST {REPOSITORY.removesuffix('/{name}')}": template(lambda created: repository_named(unused_name("repository"), created["data"])),
    f"DELETE {REPOSITORY}": template(name=repository),
    f"POST {REPOSITORY}/files/{{path:rest}}": template(TITLED, name=repository, path="a.json"),
    f"PUT {REPOSITORY}/files/{{path:rest}}": template(TITLED, name=repository, path="a.json"),
    f"DELETE {REPOSITORY}/files/{{path:rest}}": template(name=repository, path="a.json"),
    f"POST {REPOSITORY}/sync": template(name=repository),
    f"POST {REPOSITORY}/rollback": template(name=synced_repository),
    f"POST {REPOSITORY}/export": template(name=repository),
    f"POST {REPOSITORY}/jobs": template([{"action": "sync", "sync": {}}], name=repository),
    f"POST {REPOSITORY.replace('repositories/{name}', 'jobs')}": template_naming(
        "repository", repository, lambda created: {"spec": {"action": "sync", "sync": {}, "repository": created["repository"]}}
    ),
    f"DELETE {REPOSITORY.replace('repositories', 'jobs')}": template(name=job),
    f"DELETE {REPOSITORY.replace('repositories/{name}', 'jobs')}": template_selecting(job),
    "POST /apis/expressions.dashwright.io/v0alpha1/namespaces/{namespace}/evaluations": template(
        lambda _: {"metadata": {"name": unused_name("evaluation")}, "spec": EVALUATION}
    ),
    "DELETE /apis/expressions.dashwright.io/v0alpha1/namespaces/{namespace}/evaluations/{name}": template(name=evaluation),
    "DELETE /apis/expressions.dashwright.io/v0alpha1/namespaces/{namespace}/evaluations": template_selecting(evaluation),
    f"POST {BATCH.removesuffix('/{name}')}": template(lambda _: {"metadata": {"name": unused_name("batch")}, "spec": {}}),
    f"DELETE {BATCH.removesuffix('/{name}')}": template_selecting(batch),
    f"PUT {BATCH}": template({"spec": {"priority": 5}}, name=batch),
    f"PATCH {BATCH}": template({"spec": {"priority": 5}}, name=batch),
    f"DELETE {BATCH}": template(name=batch),
    f"PUT {BATCH}/status": template({"status": {"progress": 7}}, name=batch),
    f"PATCH {BATCH}/status": template({"status": {"progress": 7}}, name=batch),
    f"POST {BATCH}/items": template({"kind": "Evaluation", "spec": {"panel": PANEL}}, name=batch),
    f"POST {BATCH}/close": template(name=batch),
    f"POST {BATCH}/cancel": template(name=batch),
    f"POST {BATCH}/retry": template(name=failed_batch),
    f"DELETE {DEAD_LETTERS}/{{name}}": template(name=dead_letter),
    f"DELETE {DEAD_LETTERS}": template_selecting(dead_letter),
    f"POST {DEAD_LETTERS}/{{name}}/replay": template(name=dead_letter),
    f"POST {DEAD_LETTERS}/replay": template_selecting(dead_letter),
    "PUT /api/org": template({"name": "Renamed"}),
    "PUT /api/org/address": template(ADDRESS),
    "POST /api/orgs": template(lambda _: {"name": unused_name("Org ")}),
    "PUT /api/orgs/{org_id}": template(lambda _: {"name": unused_name("Org ")}, org_id=organization),
    "PUT /api/orgs/{org_id}/address": template(ADDRESS, org_id=organization),
    "DELETE /api/orgs/{org_id}": template(org_id=organization),
    "POST /api/org/users": template_naming("outside", other_organization, lambda created: {"loginOrEmail": created["login"], **VIEWER}),
    "PATCH /api/org/users/{user_id}": template({"role": "Editor"}, user_id=user),
    "DELETE /api/org/users/{user_id}": template(user_id=user),
    "POST /api/orgs/{org_id}/users": template_naming(
        "org_id", other_organization, lambda created: {"loginOrEmail": created["login"], **VIEWER}
    ),
    "PATCH /api/orgs/{org_id}/users/{user_id}": template({"role": "Editor"}, org_id=organization, user_id=user),
    "DELETE /api/orgs/{org_id}/users/{user_id}": template(org_id=organization, user_id=user),
    "PUT /api/users/{id}": template(lambda _: {"login": unused_name("renamed")}, id=user),
    "POST /api/users/{id}/using/{orgId}": template(id=user, orgId=1),
    "PUT /api/user": template(lambda _: {"login": unused_name("renamed")}, as_created_user=True, login=login),
    "POST /api/user/using/{orgId}": template(as_created_user=True, login=login, orgId=1),
    "PUT /api/user/password": template({"oldPassword": PASSWORD, "newPassword": "another-one"}, as_created_user=True, login=login),
    "POST /api/user/stars/dashboard/uid/{uid}": template(uid=dashboard),
    "DELETE /api/user/stars/dashboard/uid/{uid}": template(uid=dashboard),
    "POST /api/user/stars/dashboard/{id}": template(id=dashboard_id),
    "DELETE /api/user/stars/dashboard/{id}": template(id=dashboard_id),
    "POST /api/admin/users": template(lambda _: {"login": unused_name("user"), "password": PASSWORD}),
    "PUT /api/admin/users/{id}/password": template({"password": "another-one"}, id=user),
    "PUT /api/admin/users/{id}/permissions": template({"isGrafanaAdmin": True}, id=user),
    "DELETE /api/admin/users/{id}": template(id=user),
    "POST /api/admin/users/{id}/disable": template(id=user),
    "POST /api/admin/users/{id}/enable": template(id=user),
    "POST /api/admin/users/{id}/logout": template(id=user),
    "PUT /api/access-control/users/{id}/permissions": template(GRANTS, id=user),
    "PUT /api/access-control/serviceaccounts/{id}/permissions": template(GRANTS, id=account),
    "DELETE /api/auth/keys/{id}": template(id=key),
    "POST /api/serviceaccounts": template(lambda _: {"name": unused_name("robot")}),
    "PATCH /api/serviceaccounts/{id}": template({"role": "Editor"}, id=account),
    "DELETE /api/serviceaccounts/{id}": template(id=account),
    "POST /api/serviceaccounts/migrate": template(keyId=key),
    "POST /api/serviceaccounts/migrate/{keyId}": template(keyId=key),
    "POST /api/serviceaccounts/{id}/tokens": template(lambda _: {"name": unused_name("token")}, id=account),
    "DELETE /api/serviceaccounts/{id}/tokens/{tokenId}": template(id=account, tokenId=token),
    "PUT /api/orgs/{org_id}/quotas/{quota_target}": template({"limit": 5}, org_id=organization, quota_target="dashboard"),
    "PUT /api/admin/users/{user_id}/quotas/{quota_target}": template({"limit": 5}, user_id=user, quota_target="org_user"),
    "POST /api/teams": template(lambda _: {"name": unused_name("team")}),
    "PUT /api/teams/{team_id}": template(lambda _: {"name": unused_name("team")}, team_id=team),
    "DELETE /api/teams/{team_id}": template(team_id=team),
    "POST /api/teams/{team_id}/members": template_naming("user", user, lambda created: {"userId": created["user"]}, team_id=team),
    "PUT /api/teams/{team_id}/members/{user_id}": template({"permission": 4}, team_id=team, user_id=team_member),
    "DELETE /api/teams/{team_id}/members/{user_id}": template(team_id=team, user_id=team_member),
    "PUT /api/user/preferences": template(THEME),
    "PATCH /api/user/preferences": template(THEME),
    "PUT /api/org/preferences": template(THEME),
    "PATCH /api/org/preferences": template(THEME),
    "PUT /api/teams/{team_id}/preferences": template(THEME, team_id=team),
    "PATCH /api/teams/{team_id}/preferences": template(THEME, team_id=team),
    "POST /api/datasources": template(new_source),
    "PUT /api/datasources/{id}": template(new_source, id=source_id),
    "DELETE /api/datasources/{id}": template(id=source_id),
    "PUT /api/datasources/uid/{uid}": template(new_source, uid=source_uid),
    "DELETE /api/datasources/uid/{uid}": template(uid=source_uid),
    "DELETE /api/datasources/name/{name}": template(name=source_uid),
    "POST /api/folders": template(lambda _: {"title": unused_name("folder")}),
    "PUT /api/folders/{uid}": template({"title": "Other", "overwrite": True}, uid=folder),
    "POST /api/folders/{uid}/move": template_naming("parent", folder, lambda created: {"parentUid": created["parent"]}, uid=folder),
    "DELETE /api/folders/{uid}": template(uid=folder),
    "POST /api/dashboards/db": template(lambda _: {"dashboard": {"title": unused_name("dashboard")}}),
    "POST /api/dashboards/import": template(lambda _: {"dashboard": {"title": unused_name("dashboard")}}),
    "DELETE /api/dashboards/uid/{uid}": template(uid=dashboard),
    "PATCH /api/dashboards/uid/{uid}/trash": template({}, uid=deleted_dashboard),
    "POST /api/dashboards/uid/{uid}/restore": template({"version": 1}, uid=changed_dashboard),
    "POST /api/dashboards/id/{id}/restore": template({"version": 1}, id=changed_dashboard_id),
    "POST /api/library-elements": template(lambda _: {"name": unused_name("element"), "model": {}}),
    "PATCH /api/library-elements/{uid}": template(lambda _: {"name": unused_name("element"), "version": 1}, uid=panel),
    "DELETE /api/library-elements/{uid}": template(uid=panel),
    "POST /api/annotations": template({"text": "Deployed"}),
    "POST /api/annotations/graphite": template({"what": "Deployed", "tags": "a b"}),
    "PUT /api/annotations/{annotation_id}": template({"text": "Rolled back"}, annotation_id=annotation),
    "PATCH /api/annotations/{annotation_id}": template({"text": "Rolled back"}, annotation_id=annotation),
    "DELETE /api/annotations/{annotation_id}": template(annotation_id=annotation),
    "POST /api/annotations/mass-delete": template_naming("annotation", annotation, lambda created: {"annotationId": created["annotation"]}),
    **{
        f"{method} {PLAYLISTS}{path}": call
        for method, path, call in (
            ("POST", "", template(lambda _: {"metadata": {"name": unused_name("playlist")}, **OTHER_PLAYLIST})),
            ("DELETE", "", template_selecting(playlist)),
            ("PUT", "/{name}", template(OTHER_PLAYLIST, name=playlist)),
            ("PATCH", "/{name}", template(TITLED, name=playlist)),
            ("DELETE", "/{name}", template(name=playlist)),
        )
    },
    "POST /api/playlists": template(PLAYLIST),
    "PUT /api/playlists/{uid}": template({**PLAYLIST, "name": "Other"}, uid=playlist),
    "DELETE /api/playlists/{uid}": template(uid=playlist),
    "POST /api/short-urls": template({"path": "d/a"}),
    "POST /api/query-history": template(HISTORY_ENTRY),
    "PATCH /api/query-history/{uid}": template({"comment": "c"}, uid=history_entry),
    "DELETE /api/query-history/{uid}": template(uid=history_entry),
    "POST /api/query-history/star/{uid}": template(uid=history_entry),
    "DELETE /api/query-history/star/{uid}": template(uid=history_entry),
    "POST /api/snapshots": template({"dashboard": {"title": "S"}}),
    "DELETE /api/snapshots/{key}": template(key=snapshot),
    "POST /api/folders/{uid}/permissions": template({"items": [{"role": "Viewer", "permission": 1}]}, uid=folder),
    "POST /api/dashboards/uid/{uid}/permissions": template({"items": [{"role": "Viewer", "permission": 1}]}, uid=dashboard),
    "POST /api/dashboards/id/{id}/permissions": template({"items": [{"role": "Viewer", "permission": 1}]}, id=dashboard_id),
    **{
        f"POST /api/access-control/{plural}/{{uid}}{path}": template(body, uid=maker, **created)
        for plural, maker in (("folders", folder), ("dashboards", dashboard))
        for path, body, created in (
            ("", {"permissions": [{"builtInRole": "Viewer", "permission": "View"}]}, {}),
            ("/users/{user_id}", {"permission": "View"}, {"user_id": user}),
            ("/teams/{team_id}", {"permission": "View"}, {"team_id": team}),
            ("/builtInRoles/{role}", {"permission": "Edit"}, {"role": "Viewer"}),
        )
    },
}


def changing_routes(routes: list[Route]) -> dict[str, Route]:
    """Return the routes that change something, by method and path."""
    table = {f"{route.method} {route.path}": route for route in in_preferred_versions(routes) if route.method not in READ_METHODS}
    return {name: route for name, route in table.items() if name not in CHANGES_NOTHING | REFUSED_ROUTES | FORWARDED | SIGNED_ROUTES}


async def events_of(api: Api, request_id: str) -> list[tuple[str, str, int]]:
    """Return action, outcome and status of the audit events of a request."""
    async with api.database.connection() as connection:
        rows = await connection.fetch("select action, outcome, status from audit_event where request_id = $1", request_id)
    return [(row["action"], row["outcome"], row["status"]) for row in rows]


@dataclass(frozen=True)
class PreparedCall:
    """A call whose objects exist. ``headers`` are sent in addition to its credentials."""

    method: str
    path: str
    body: Any
    auth: str | None
    headers: Mapping[str, str]

    async def send(self, api: Api, *, query: str = "", headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
        """Send the call with further parameters and headers. Return the status and the body of the response."""
        path = f"{self.path}{'&' if '?' in self.path else '?'}{query}" if query else self.path
        return await api(self.method, path, self.body, auth=self.auth, headers={**self.headers, **(headers or {})})


async def prepare_call(api: Api, route: Route, call_template: CallTemplate) -> PreparedCall:
    """Create the objects of a call, and return the call."""
    created: CreatedValues = {"namespace": "default", "data": api.data}
    for parameter, maker in call_template.created.items():
        created[parameter] = await maker(api, created) if callable(maker) else maker
    path = re.sub(r"\{(\w+)(?::rest)?\}", lambda match: str(created[match[1]]), route.path + call_template.query)
    body = call_template.body(created) if callable(call_template.body) else call_template.body
    auth = basic(created["login"], PASSWORD) if call_template.as_created_user else ADMIN
    return PreparedCall(route.method, path, body, auth, content_type(route))


async def send_prepared(api: Api, route: Route, call_template: CallTemplate, request_id: str) -> tuple[int, Any]:
    """Create the objects of a call and send it with a request id. Return the status and the body of the response."""
    return await (await prepare_call(api, route, call_template)).send(api, headers={"X-Request-Id": request_id})


def content_type(route: Route) -> Mapping[str, str]:
    """Return the header Content-Type of a call whose body is not plain JSON, or no header."""
    if route.method == "PATCH" and route.path.startswith("/apis/"):
        return {"Content-Type": "application/merge-patch+json"}
    return {"Content-Type": "application/x-ndjson"} if route.method == "POST" and route.path.endswith("/items") else {}


@pytest.fixture
async def jobs_worker(broker: MemoryBroker) -> AsyncIterator[None]:
    """Start a fake jobs worker that reports every change of a file as successful."""
    server = RpcServer(broker, broker.topology.repositories, FakeJobsWorker().respond, SIGNER, prefetch=1)
    await server.start()
    yield
    await server.stop(drain=0)


async def test_every_change_is_one_event(api: Api, jobs_worker: None) -> None:
    """One successful call of each changing route writes exactly one event: the event that the route declares."""
    table = changing_routes(api.routes)
    assert table.keys() == TEMPLATES.keys()
    for name, route in table.items():
        request_id = unused_name("call-")
        status, response = await send_prepared(api, route, TEMPLATES[name], request_id)
        assert status < 300, (name, response)
        assert await events_of(api, request_id) == [(route.audit, "ok", status)], name


async def test_every_refused_change_is_one_event(start_api: StartApi) -> None:
    """A legacy key without permissions requests each route, and each refusal is one event.

    The caller is a key, because users and service accounts may set their preferences without a permission. The gateway writes refusals
    in batches, and the last batch when it stops.
    """
    # The gateway does not write the time of the key's last use during the test.
    api = await start_api(last_used_seconds=3600)
    await api.legacy_key("unprivileged", role=Role.NONE)
    table = changing_routes(api.routes)
    for index, (name, route) in enumerate(table.items()):
        headers = {"X-Request-Id": f"call-{index}"}
        status, response = await api(route.method, address(route), {}, auth=f"Bearer {legacy_text('unprivileged')}", headers=headers)
        assert status == 403, (name, response)
    await api.stop()
    for index, (name, route) in enumerate(table.items()):
        assert await events_of(api, f"call-{index}") == [(route.audit, "refused", 403)], name


@pytest.mark.parametrize("auth", [None, basic("admin", "wrong")], ids=["no credentials", "wrong password"])
async def test_an_unauthenticated_request_writes_an_event(start_api: StartApi, auth: str | None) -> None:
    """An unauthenticated request writes an event without an organization."""
    api = await start_api(last_used_seconds=3600)
    assert (await api("PUT", "/api/org", {"name": "x"}, auth=auth, headers={"X-Request-Id": "unauthenticated"}))[0] == 401
    await api.stop()
    assert await events_of(api, "unauthenticated") == [("org.update", "refused", 401)]
    assert await api.sql("select count(*) from audit_event where org_id is not null") == 0


async def test_only_routes_that_change_nothing_have_no_event(api: Api) -> None:
    """Every route that changes something declares its event. Of the routes that change nothing, only POST /api/auth/keys is public."""
    table = {f"{route.method} {route.path}": route for route in in_preferred_versions(api.routes) if route.method not in READ_METHODS}
    assert {name for name, route in table.items() if route.audit is None} == CHANGES_NOTHING | REFUSED_ROUTES
    assert {name for name in CHANGES_NOTHING if table[name].required_access is PUBLIC} == {"POST /api/auth/keys"}

"""Short URLs, which redirect to paths of this server."""

import asyncio
from typing import Any, Final

import pytest
from tests.contract.api.conftest import ADMIN, Api, StartApi

from dashwright.api.housekeeping import Cleaner
from dashwright.common.clock import Clock
from dashwright.common.identity import Role

PATH: Final = "/api/short-urls"


async def create_short_url(api: Api, path: str = "d/abc", **options: Any) -> str:
    """Create a short URL and return its uid."""
    status, body = await api("POST", PATH, {"path": path}, **options)
    assert status == 200, body
    return str(body["uid"])


async def open_short_url(api: Api, uid: str, auth: str | None = ADMIN) -> tuple[int, str | None]:
    """Return the status and the redirection of a short URL."""
    headers = {"Authorization": auth} if auth else {}
    async with api.session.get(f"/goto/{uid}?orgId=1", headers=headers, allow_redirects=False) as response:
        return response.status, response.headers.get("Location")


async def test_a_short_url_redirects_to_its_path(api: Api) -> None:
    """The redirect has the query and fragment of the path. An unauthenticated client gets no redirect."""
    path = "d/abc/title?orgId=1&from=now-1h&to=now#p"
    status, body = await api("POST", PATH, {"path": path})
    assert (status, body.keys()) == (200, {"uid", "url"})
    assert body["url"].endswith(f"/goto/{body['uid']}?orgId=1")
    assert await open_short_url(api, body["uid"]) == (302, f"/{path}")
    assert await open_short_url(api, body["uid"], auth=None) == (401, None)
    assert await open_short_url(api, "unknown") == (404, None)


@pytest.mark.parametrize(
    "body", [{}, {"path": ""}, {"path": "//evil.example"}, {"path": "/d/a"}, {"path": "https://evil.example"}, {"path": 5}], ids=str
)
async def test_other_addresses_are_refused(api: Api, body: Any) -> None:
    """An address of another server and a body without a path are refused, and nothing is stored."""
    assert (await api("POST", PATH, body))[0] == 400
    assert await api.sql("select count(*) from short_url") == 0


async def test_a_path_has_one_short_url_in_an_organization(api: Api) -> None:
    """All members of an organization receive the same uid for a path. Members of a second organization receive and open another uid."""
    viewer = await api.person("viewer", Role.VIEWER)
    other_member = await api.person("other", Role.VIEWER, org_id=await api.organization("Other"))
    uids = await asyncio.gather(*(create_short_url(api, auth=auth) for auth in (ADMIN, viewer, ADMIN, viewer)))
    assert len(set(uids)) == 1
    uid_in_other_org = await create_short_url(api, auth=other_member)
    assert uid_in_other_org != uids[0]
    assert await open_short_url(api, uids[0], auth=other_member) == (404, None)
    assert await open_short_url(api, uid_in_other_org, auth=other_member) == (302, "/d/abc")


async def test_unused_short_urls_expire(api: Api) -> None:
    """A short URL is deleted some time after its last use, which is an opening or a request for the same path."""
    unused, used, requested = await create_short_url(api, "d/1"), await create_short_url(api, "d/2"), await create_short_url(api, "d/3")
    await api.sql("update short_url set created_at = now() - interval '8 days', last_used_at = now() - interval '8 days'")
    assert await open_short_url(api, used) == (302, "/d/2")
    assert await create_short_url(api, "d/3") == requested
    # With 0, short URLs are kept permanently. The unused one is 8 days old.
    for days, remaining in ((0, 3), (9, 3), (7, 2)):
        await Cleaner(api.database, Clock(), expired_token_days=0, audit_days=0, short_url_days=days).clean()
        assert await api.sql("select count(*) from short_url") == remaining
    assert await open_short_url(api, unused) == (404, None)


async def test_a_use_is_recorded_once_an_hour(api: Api) -> None:
    """A use is recorded only if the last recorded use is more than an hour ago."""
    uid = await create_short_url(api)
    before = await api.sql("update short_url set last_used_at = now() - interval '59 minutes' returning last_used_at")
    await open_short_url(api, uid)
    assert await api.sql("select last_used_at from short_url") == before
    before = await api.sql("update short_url set last_used_at = now() - interval '61 minutes' returning last_used_at")
    await open_short_url(api, uid)
    assert await api.sql("select last_used_at from short_url") > before


async def test_short_urls_are_limited(start_api: StartApi) -> None:
    """Concurrent creations stop at the limit of the organization, but a request for an existing path still succeeds."""
    api = await start_api(short_urls=2)
    results = await asyncio.gather(*(api("POST", PATH, {"path": f"d/{number}"}) for number in range(5)))
    assert sorted(status for status, _ in results) == [200, 200, 403, 403, 403]
    existing_path = await api.sql("select path from short_url limit 1")
    assert (await api("POST", PATH, {"path": existing_path}))[0] == 200
    other_member = await api.person("other", Role.VIEWER, org_id=await api.organization("Other"))
    await create_short_url(api, auth=other_member)


async def test_a_short_url_survives_its_creator(api: Api) -> None:
    """Short URLs are kept if their creator is deleted, and are deleted with their organization."""
    org_id = await api.organization("Other")
    member, other_admin = await api.person("member", Role.VIEWER), await api.person("other", Role.ADMIN, org_id=org_id)
    uid = await create_short_url(api, auth=member)
    await create_short_url(api, auth=other_admin)
    user_id = await api.sql("""select id from "user" where login = 'member'""")
    assert (await api("DELETE", f"/api/admin/users/{user_id}"))[0] == 200
    assert (await api("DELETE", f"/api/orgs/{org_id}"))[0] == 200
    assert await open_short_url(api, uid) == (302, "/d/abc")
    assert await api.sql("select count(*) from short_url") == 1

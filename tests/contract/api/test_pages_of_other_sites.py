"""Requests that pages of other sites send from a real browser. The browser adds the password that it has stored for this server."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from tests.servers.chromium import browsing

from .conftest import StartApi

pytestmark = pytest.mark.faults

#: Rules by which the browser resolves host names.
HOST_RULES = "MAP dash.corp 127.0.0.1, MAP apps.dash.corp 127.0.0.1, MAP evil.example 127.0.0.1"
#: A page whose form is a JSON object in plain text, which browsers send to other sites without a preflight request.
FORM = """<form method=post enctype="text/plain" action="{victim}/api/orgs">
<input name='{{"name":"forged","x":"' value='"}}'></form><script>document.forms[0].submit()</script>"""
#: A script that creates an organization.
CREATE = (
    "fetch('/api/orgs', {{method: 'POST', headers: {{'Content-Type': 'application/json'{more_headers}}}, "
    'body: \'{{"name": "{name}"}}\'}})'
)


@pytest.fixture
async def attacker() -> AsyncIterator[int]:
    """Yield the port of a server whose page submits a form to the victim in its query."""

    async def page(request: web.Request) -> web.Response:
        """Respond with the form, whose target is the victim in the query."""
        return web.Response(text=FORM.format(victim=request.query["victim"]), content_type="text/html")

    application = web.Application()
    application.router.add_get("/", page)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield site.port
    await runner.cleanup()


@pytest.mark.parametrize(
    ("victim", "page"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("dash.corp", "evil.example"),
        ("dash.corp", "apps.dash.corp"),
        ("127.0.0.1", "evil.example"),
    ],
    ids=["another port", "another site", "a subdomain", "a site and an IP address"],
)
async def test_a_page_of_another_site_creates_nothing(start_api: StartApi, attacker: int, victim: str, page: str) -> None:
    """The browser sends its stored password with the requests of any page.

    A page of this server can create an organization, and the form of another site is 403.
    """
    api = await start_api(trusted_hosts="dash.corp")
    own_address = f"http://{victim}:{api.address.port}"
    async with browsing(hosts=HOST_RULES) as tab:
        assert await tab.open(f"http://admin:admin@{victim}:{api.address.port}/api/org") == 200
        assert await tab.open(f"{own_address}/api/user") == 200
        assert await tab.evaluate(f"{CREATE.format(name='own', more_headers='')}.then(response => response.status)") == 200
        await tab.open(f"http://{page}:{attacker}/?victim={own_address}")
        assert await tab.status("/api/orgs") == 403
    assert await api.sql("select array_agg(name order by name) from org") == ["Main Org.", "own"]


async def test_a_page_with_a_rebound_name_reads_and_changes_nothing(start_api: StartApi) -> None:
    """A page of an attacker whose host name resolves to this server (DNS rebinding) is refused, even with the password."""
    api = await start_api()
    known_password = "'Authorization': 'Basic ' + btoa('admin:admin')"
    async with browsing(hosts=HOST_RULES) as tab:
        await tab.open(f"http://evil.example:{api.address.port}/api/health")
        create = CREATE.format(name="forged", more_headers=f", {known_password}")
        assert await tab.evaluate(f"{create}.then(response => response.status)") == 403
        assert await tab.evaluate(f"fetch('/api/org', {{headers: {{{known_password}}}}}).then(response => response.status)") == 403
    assert await api.sql("select count(*) from org") == 1

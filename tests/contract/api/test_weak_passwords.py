"""Weak passwords cannot be set, and grant no access to a server that other machines can reach."""

import pytest
from tests import light_passwords

from dashwright.api.main import Gateway
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import Settings, SettingsError, load

from .conftest import StartApi, basic

STRONG_PASSWORD = "correct horse battery"


@pytest.mark.parametrize(
    ("password", "message"),
    [
        ("", "missing or too short; it needs at least 8 characters"),
        ("seven77", "missing or too short; it needs at least 8 characters"),
        ("Password1", "too common"),
        ("aaaaaaaaaaaa", "too common"),
        ("New-Person", "too common"),
    ],
    ids=["empty", "short", "common", "repeated character", "login"],
)
async def test_a_weak_password_is_rejected(start_api: StartApi, password: str, message: str) -> None:
    """A password that is short, common or equal to the login is rejected."""
    api = await start_api(password_min_length=8)
    status, body = await api("POST", "/api/admin/users", {"login": "new-person", "password": password})
    assert status == 400
    assert message in body["message"]


async def test_a_strong_password_is_accepted(start_api: StartApi) -> None:
    """A long password that is not common is accepted."""
    api = await start_api(password_min_length=8)
    assert (await api("POST", "/api/admin/users", {"login": "new-person", "password": STRONG_PASSWORD}))[0] == 200


@pytest.mark.parametrize("stored_password", ["admin", ""])
async def test_an_exposed_server_does_not_start_with_a_default_password(
    start_api: StartApi, database: Database, broker: MemoryBroker, stored_password: str
) -> None:
    """An exposed server does not start if the stored password of the admin is the default one, regardless of the setting."""
    api = await start_api()
    await api.sql("""update "user" set password = $1""", light_passwords.HASHER.hash(stored_password))
    settings = load(http_host="0.0.0.0", http_port=0, admin_password=STRONG_PASSWORD, secret_key="of tests only", data_dir=api.data)
    with pytest.raises(SettingsError, match="the account admin has the default password"):
        await Gateway(settings, database, broker, Clock()).start()


async def test_a_weak_password_can_only_be_changed_on_an_exposed_server(start_api: StartApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an exposed server, a user with a weak password can only set a strong password, and can then send other requests."""
    monkeypatch.setattr(Settings, "refuses_weak_passwords", True)
    api = await start_api(admin_password=STRONG_PASSWORD, password_min_length=8)
    await api.sql(
        """insert into "user" (login, email, org_id, password) values ('ann', 'ann', 1, $1)""", light_passwords.HASHER.hash("short")
    )
    await api.sql("""insert into org_user (org_id, user_id, role) select 1, id, 'Viewer' from "user" where login = 'ann'""")
    # A repeated request is refused in the same way.
    for _ in range(2):
        status, body = await api("GET", "/api/user", auth=basic("ann", "short"))
        assert (status, body["messageId"]) == (403, "password-auth.must-change")
    change = {"oldPassword": "short", "newPassword": STRONG_PASSWORD}
    assert (await api("PUT", "/api/user/password", change, auth=basic("ann", "short")))[0] == 200
    assert (await api("GET", "/api/user", auth=basic("ann", STRONG_PASSWORD)))[0] == 200

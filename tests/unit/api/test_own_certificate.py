"""The certificate that the gateway makes for itself."""

import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dashwright.api import tls
from dashwright.api.http.answer import Answer
from dashwright.api.http.call import Call
from dashwright.api.http.routing import PUBLIC, Route
from dashwright.common.settings import Settings, SettingsError, load

from .conftest import Serve

NOW = datetime.now(UTC)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    return load(tls="self-signed", data_dir=tmp_path / "data")


def _pair(settings: Settings) -> bytes:
    return (settings.data_dir / "tls" / tls.PAIR).read_bytes()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_clients_that_trust_it_are_served(serve: Serve, settings: Settings, host: str) -> None:
    """A client that was given the certificate speaks https with the gateway, by name and by address, its checks all on."""

    async def fine(_: Call) -> Answer:
        return Answer(200, b"{}")

    gateway = await serve([Route("GET", "/api/fine", fine, PUBLIC)], tls=tls.context_of(settings, NOW))
    trusting = ssl.create_default_context(cafile=settings.data_dir / "tls" / tls.CERTIFICATE)
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    async with gateway.client.get(f"https://{host}:{gateway.port}/api/fine", ssl=trusting) as response:
        assert response.status == 200


def test_only_the_owner_may_read_the_key(settings: Settings) -> None:
    """The pair is for nobody else's eyes."""
    tls.context_of(settings, NOW)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (settings.data_dir / "tls", settings.data_dir / "tls" / tls.PAIR)]
    assert modes == [0o700, 0o600]


def test_it_is_made_once(settings: Settings) -> None:
    """A second start shows the same certificate."""
    tls.context_of(settings, NOW)
    first = _pair(settings)
    tls.context_of(settings, NOW + timedelta(days=700))
    assert _pair(settings) == first


def test_one_that_soon_ends_is_replaced(settings: Settings) -> None:
    """Within thirty days of its end a start makes a new one."""
    tls.context_of(settings, NOW)
    first = _pair(settings)
    tls.context_of(settings, NOW + timedelta(days=796))
    assert _pair(settings) != first


def test_one_for_another_name_is_replaced(settings: Settings) -> None:
    """Listening at another address makes one that names it."""
    tls.context_of(settings, NOW)
    first = _pair(settings)
    tls.context_of(settings.model_copy(update={"http_host": "127.0.0.2"}), NOW)
    assert _pair(settings) != first


def test_what_cannot_be_read_is_said(settings: Settings) -> None:
    """A damaged file stops the start with the folder and what to do."""
    tls.context_of(settings, NOW)
    (settings.data_dir / "tls" / tls.PAIR).write_text("no certificate")
    with pytest.raises(SettingsError, match="neither used nor made"):
        tls.context_of(settings, NOW)


def test_without_the_setting_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway speaks plain http unless told otherwise; and is told one thing only."""
    monkeypatch.chdir(tmp_path)
    assert tls.context_of(load(), NOW) is None
    with pytest.raises(SettingsError, match="exclude one another"):
        load(tls="self-signed", tls_cert="a.pem", tls_key="b.pem")

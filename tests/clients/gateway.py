"""The gateway that clients are tested with: the whole system on its own data directory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.acceptance.processes import Service

LISTENING = "listening"


@asynccontextmanager
async def serving(folder: Path, **settings: str) -> AsyncIterator[Service]:
    """Run ``dashwright serve`` on the new folder ``data`` in ``folder``, and write its log next to it in the end."""
    default_settings = {
        "DATA_DIR": str(folder / "data"),
        "HTTP_HOST": "127.0.0.1",
        "HTTP_PORT": "0",
        "ADMIN_USER": "admin",
        "ADMIN_PASSWORD": "admin",
        "PASSWORD_MIN_LENGTH": "4",  # the clients' own tests set short passwords
    }
    service = Service("dashwright", default_settings | settings, "serve")
    try:
        await service.start(until=LISTENING)
        yield service
    finally:
        if service.is_running:
            await service.stop()
        (folder / "gateway.log").write_text("\n".join(service.lines))


def address(service: Service) -> str:
    """Return the URL of a gateway that is serving."""
    return str(service.logged_events(LISTENING)[0]["address"])


def suspicious_calls(service: Service, before: int) -> list[str]:
    """Return the calls that matched no route or failed, since the position ``before`` of the gateway's log: they explain most failures."""
    responses = service.logged_events("request_completed", after=before)
    unserved = {f"not served: {event['method']} {event['path']}" for event in responses if event["route"] == "unmatched"}
    failed = {f"status {event['status']}: {event['method']} {event['path']}" for event in responses if event["status"] >= 500}
    return sorted(unserved | failed)

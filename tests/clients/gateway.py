"""The gateway that clients are tried with: the whole system on a data folder of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.acceptance.processes import Service

LISTENING = "listening"


@asynccontextmanager
async def serving(folder: Path, **settings: str) -> AsyncIterator[Service]:
    """``dashwright serve`` on the empty folder ``data`` in ``folder``, listening. Its log is left beside that."""
    usual = {
        "DATA_DIR": str(folder / "data"),
        "HTTP_HOST": "127.0.0.1",
        "HTTP_PORT": "0",
        "ADMIN_USER": "admin",
        "ADMIN_PASSWORD": "admin",
        "PASSWORD_MIN_LENGTH": "4",  # clients' own tests set short ones
    }
    service = Service("dashwright", usual | settings, "serve")
    try:
        await service.start(until=LISTENING)
        yield service
    finally:
        if service.is_running:
            await service.stop()
        (folder / "gateway.log").write_text("\n".join(service.lines))


def address(service: Service) -> str:
    return str(service.logged(LISTENING)[0]["address"])


def suspects(service: Service, before: int) -> list[str]:
    """The calls since position ``before`` of the gateway's log that no route took, or that failed: most faults are one of these."""
    answered = service.logged("request_completed", after=before)
    unserved = {f"not served: {event['method']} {event['path']}" for event in answered if event["route"] == "unmatched"}
    broken = {f"answered {event['status']}: {event['method']} {event['path']}" for event in answered if event["status"] >= 500}
    return sorted(unserved | broken)

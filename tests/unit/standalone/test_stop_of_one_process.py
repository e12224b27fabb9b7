"""The end of all services in one process."""

from typing import Any

import pytest

from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import Settings
from dashwright.standalone import one_process


@pytest.mark.parametrize("is_faulty", [False, True], ids=["stopped", "failed"])
async def test_the_workers_stop_after_the_gateway(monkeypatch: pytest.MonkeyPatch, *, is_faulty: bool) -> None:
    """The workers stop even if the stop of the gateway fails. Otherwise, they would use a closed database until they are killed."""
    stopped: list[str] = []

    class Service:
        """Service that records its end."""

        name = ""

        def __init__(self, *_: Any) -> None:
            pass

        async def start(self) -> str:
            """Return the name of the service."""
            return self.name

        async def stop(self) -> None:
            """Record the end. A faulty gateway raises RuntimeError."""
            stopped.append(self.name)
            if is_faulty and self.name == "Gateway":
                raise RuntimeError("no end")

    for name in ("ExpressionsWorker", "JobsWorker", "Gateway"):
        monkeypatch.setattr(one_process, name, type(name, (Service,), {"name": name}))
    services = one_process._services(Settings(permitted_paths=""), None, MemoryBroker())  # type: ignore[arg-type]
    assert await services.__aenter__() == "Gateway"
    if is_faulty:
        with pytest.raises(RuntimeError, match="no end"):
            await services.__aexit__(None, None, None)
    else:
        await services.__aexit__(None, None, None)
    assert stopped == ["Gateway", "JobsWorker", "ExpressionsWorker"]

"""A server in a Docker container, for hosts without server programs."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping

from docker.errors import DockerException  # type: ignore[import-untyped]
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from tests.servers.process import CannotProvide

#: Label of a container with the id of the process that created it.
_OWNER = "dashwright.test.owner"


class Container:
    """Container with ports on the loopback, which remain the same over restarts."""

    def __init__(self, image: str, ports: Mapping[int, int], environment: Mapping[str, str]) -> None:
        self._image, self._ports, self._environment = image, ports, environment
        self._container: DockerContainer | None = None

    async def start(self, is_serving: Callable[[], Awaitable[bool]], *, timeout_seconds: float = 120) -> None:
        """Create the container, or start the stopped one, and wait until ``is_serving`` returns True."""
        try:
            if self._container is None:
                self._container = await asyncio.to_thread(self._create)
            else:
                await asyncio.to_thread(self._container.get_wrapped_container().start)
            async with asyncio.timeout(timeout_seconds):
                while not await is_serving():  # noqa: ASYNC110 (no event announces that a server serves)
                    await asyncio.sleep(0.1)
        except (DockerException, TimeoutError) as error:
            raise CannotProvide(f"Docker does not run {self._image} ({error or 'no response'})") from error

    async def stop(self) -> None:
        """Stop the container in an orderly way, if it was created."""
        if self._container is not None:
            await asyncio.to_thread(self._container.get_wrapped_container().stop)

    async def kill(self) -> None:
        """Kill the processes of the container, if it was created."""
        if self._container is not None:
            await asyncio.to_thread(self._container.get_wrapped_container().kill)

    async def execute(self, *command: str) -> None:
        """Run a command in the container. Raises CannotProvide if it fails."""
        assert self._container is not None
        status, output = await asyncio.to_thread(self._container.exec, list(command))
        if status != 0:
            raise CannotProvide(f"{command[0]} failed: {output!r}")

    async def remove(self) -> None:
        """Stop and delete the container, if it was created."""
        if self._container is not None:
            await asyncio.to_thread(self._container.stop)
            self._container = None

    def _create(self) -> DockerContainer:
        """Create the container and start it."""
        # The reaper of testcontainers would be one more image to download. The next run removes what a killed run left.
        testcontainers_config.ryuk_disabled = True
        container = DockerContainer(self._image).with_kwargs(labels={_OWNER: str(os.getpid())})
        _remove_leftovers(container)
        container.env.update(self._environment)
        container.ports = {str(inside): ("127.0.0.1", outside) for inside, outside in self._ports.items()}  # type: ignore[misc]
        return container.start()


def _remove_leftovers(container: DockerContainer) -> None:
    """Delete the containers whose owner has ended."""
    for remaining in container.get_docker_client().client.containers.list(all=True, filters={"label": _OWNER}):
        try:
            os.kill(int(remaining.labels[_OWNER]), 0)  # signal 0 only checks whether the process exists
        except ProcessLookupError:
            remaining.remove(force=True, v=True)
        except PermissionError:
            continue  # the owner is a running process of another user

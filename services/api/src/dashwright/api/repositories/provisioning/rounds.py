"""Repeated application of the files that declare repositories, by one of the gateways."""

import asyncio

import structlog

from dashwright.api.repositories.provisioning.provisioner import RepositoryProvisioner
from dashwright.api.resources.writing.writer import Writer
from dashwright.api.stores import provisioning
from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError
from dashwright.common.settings import Settings

log = structlog.get_logger()


def create_rounds(settings: Settings, database: Database, writer: Writer) -> "ProvisioningRounds":
    """Return the background task with the directory and the interval of the settings."""
    directory = settings.provisioning_dir
    provisioner = None if directory is None else RepositoryProvisioner(directory, writer)
    return ProvisioningRounds(database, provisioner, seconds=settings.provisioning_seconds)


class ProvisioningRounds:
    """A background task that applies the files at its start and then every ``seconds`` seconds.

    The gateway that gets the lock keeps it until it stops, since files may differ between gateways for some time after a change.
    The lock takes one connection of the pool.
    """

    def __init__(self, database: Database, provisioner: RepositoryProvisioner | None, *, seconds: float) -> None:
        self._database = database
        self._provisioner = provisioner
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the background task. Does nothing without a provisioner."""
        if self._provisioner is not None:
            self._task = asyncio.create_task(self._run(self._provisioner), name="provisioning")

    async def stop(self) -> None:
        """End the background task and release the lock. Does nothing if it was not started."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, provisioner: RepositoryProvisioner) -> None:
        """Apply the files again and again under the lock, and after an error take the lock again."""
        while True:
            try:
                async with provisioning.lock(self._database) as connection:
                    # None: another gateway has the lock.
                    while connection is not None:
                        await provisioner.apply(connection)
                        await asyncio.sleep(self._seconds)
            except DashwrightError as error:
                log.info("provisioning_delayed", error=error.message)
            except Exception:
                log.exception("provisioning_failed")
            await asyncio.sleep(self._seconds)

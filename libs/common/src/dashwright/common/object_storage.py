"""Object storage: a directory, or a bucket of a server that is compatible with S3."""

import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import obstore
import structlog
from obstore.exceptions import BaseError
from obstore.store import LocalStore, S3Store

from dashwright.common.errors import Unavailable
from dashwright.common.storage_location import StorageLocation

if TYPE_CHECKING:
    from obstore import AsyncWritableFile
    from obstore.store import ClientConfig, S3Config

log = structlog.get_logger()

#: Size of one read, in bytes.
READ_BYTES: Final = 256 * 1024
#: Size of the parts of an object, in bytes. A smaller object is written in one request. S3 requires at least 5 MiB.
_PART_BYTES: Final = 5 * 1024 * 1024
#: Maximum number of characters of an error in the log.
_MAX_LOGGED_CHARACTERS: Final = 500
#: Number of parts that are written concurrently.
_MAX_CONCURRENCY: Final = 2


class ObjectMissing(Exception):
    """Object that does not exist."""


class ObjectStorage:
    """Objects by path. Its methods raise Unavailable if the storage fails."""

    def __init__(self, open_store: Callable[[], LocalStore | S3Store], *, directory: Path | None = None) -> None:
        self._open_store = open_store
        self._directory = directory

    @cached_property
    def _store(self) -> LocalStore | S3Store:
        """Store of the library, opened when it is first used. Raises Unavailable if that fails."""
        try:
            return self._open_store()
        except (BaseError, OSError) as error:
            raise _unavailable(error) from error

    @classmethod
    def in_directory(cls, path: Path) -> "ObjectStorage":
        """Return the storage in a directory, which is created when it is first used, for its owner only."""
        directory = path.absolute()

        def open_store() -> LocalStore:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            return LocalStore(directory)

        return cls(open_store, directory=directory)

    @classmethod
    def at(cls, location: StorageLocation) -> "ObjectStorage":
        """Return the storage in a directory or a bucket."""
        if location.directory is not None:
            return cls.in_directory(location.directory)
        config: S3Config = {"region": location.region}
        if location.endpoint:
            config["endpoint"] = location.endpoint
        if location.access_key is not None and location.secret_key is not None:
            config["access_key_id"] = location.access_key.get_secret_value()
            config["secret_access_key"] = location.secret_key.get_secret_value()
        options: ClientConfig = {"allow_http": urlsplit(location.endpoint).scheme == "http"}
        return cls(lambda: S3Store(location.bucket, prefix=location.prefix or None, config=config, client_options=options))

    @asynccontextmanager
    async def writer(self, path: str) -> AsyncIterator["AsyncWritableFile"]:
        """Yield a writer of a new object. The object exists after the block, or not at all if the block raises."""
        writer = obstore.open_writer_async(self._store, path, buffer_size=_PART_BYTES, max_concurrency=_MAX_CONCURRENCY)
        try:
            yield writer
            await writer.close()
        except (BaseError, OSError) as error:
            raise _unavailable(error) from error

    async def read(self, path: str, *, start: int, size: int) -> bytes:
        """Return at most ``READ_BYTES`` bytes of an object from the position ``start`` on. Raises ObjectMissing if it does not exist.

        ``size`` is the size of the whole object. No connection or file is open between two reads, even if a client
        reads slowly.
        """
        try:
            return bytes(await self._store.get_range_async(path, start=start, end=min(size, start + READ_BYTES)))
        except FileNotFoundError as error:
            raise ObjectMissing(path) from error
        except (BaseError, OSError) as error:
            raise _unavailable(error) from error

    async def list_paths(self, prefix: str) -> Sequence[str]:
        """Return the paths of all objects below a prefix, which ends at a slash."""
        try:
            return [entry["path"] for entry in await self._store.list_async(prefix).collect_async()]
        except (BaseError, OSError) as error:
            raise _unavailable(error) from error

    async def delete(self, *paths: str) -> None:
        """Delete objects. Missing ones are ignored."""
        for path in paths:
            try:
                await self._store.delete_async(path)
            except FileNotFoundError:
                continue
            except (BaseError, OSError) as error:
                raise _unavailable(error) from error

    async def delete_all(self, prefix: str) -> None:
        """Delete all objects below a prefix, which ends with a slash, including unfinished ones."""
        await self.delete(*await self.list_paths(prefix))
        if self._directory is not None:
            # A writer that was killed leaves a temporary file, which is not listed.
            shutil.rmtree(self._directory / prefix, ignore_errors=True)


def _unavailable(error: Exception) -> Unavailable:
    """Return the error for a failed storage, and log the cause."""
    # Only in the log, since the text of the error can contain addresses and paths. Its other lines are a trace of the library.
    first_line = str(error).partition("\n")[0]
    log.warning("object_storage_failed", error=first_line[:_MAX_LOGGED_CHARACTERS])
    return Unavailable("the storage of batch results does not respond; repeat the request later", retry_after=5)

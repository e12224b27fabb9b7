"""The references of syncs: a minimal program that clones a repository, and programs that request each file."""

import asyncio
import base64
import itertools
import os
import shutil
import time
import uuid
import zlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, Self

import aiohttp
import asyncpg
import orjson
import pygit2

from benchmarks.sync.corpus import BRANCH, git

#: A table like that of the product's store, with two unique indexes.
_CREATE_TABLE: Final = """
create table bare (
    uid uuid primary key, namespace text not null, name text not null, path text not null, checksum text not null, title text not null,
    tags text[] not null, spec text compression lz4 not null, unique (namespace, name)
)
"""
_COLUMNS: Final = ("uid", "namespace", "name", "path", "checksum", "title", "tags", "spec")
_INSERT: Final = "insert into bare values ($1, $2, $3, $4, $5, $6, $7, $8)"
#: Concurrent requests, and connections to the database.
_CONCURRENT: Final = 10
#: The environment of git, without the configuration of this machine.
_ENVIRONMENT: Final = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class MinimalSync:
    """Rounds of minimal work on a repository on the git host, each with one figure in seconds.

    In results and docs/explanation/performance.md, ``clone`` is called the *floor* of a sync.
    """

    def __init__(self, url: str, contents_url: str, folder: Path, pool: "asyncpg.Pool[Any]", session: aiohttp.ClientSession) -> None:
        self._url = url
        self._contents_url = contents_url
        self._folder = folder
        self._pool = pool
        self._session = session

    @classmethod
    async def open(cls, exit_stack: AsyncExitStack, database_url: str, url: str, contents_url: str, folder: Path) -> Self:
        """Open connections, and create the table.

        ``url`` is the repository for git, ``contents_url`` for the REST API. ``folder`` is the folder for clones.
        """
        pool = await exit_stack.enter_async_context(asyncpg.create_pool(database_url, min_size=_CONCURRENT, max_size=_CONCURRENT))
        await pool.execute(_CREATE_TABLE)
        session = await exit_stack.enter_async_context(aiohttp.ClientSession(auto_decompress=False))
        return cls(url, contents_url, folder, pool, session)

    async def clone(self) -> Sequence[float]:
        """Clone the repository, read and parse all files, and copy them into the table in one transaction."""
        await self._pool.execute("truncate bare")
        clone = self._folder / "clone.git"
        shutil.rmtree(clone, ignore_errors=True)
        started = time.perf_counter()
        await _run_git("clone", "--quiet", "--bare", self._url, str(clone))
        rows = [_row(path, checksum, body) for path, checksum, body in _blobs(clone)]
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.copy_records_to_table("bare", records=rows, columns=_COLUMNS)
        return [time.perf_counter() - started]

    async def ls_remote(self) -> Sequence[float]:
        """Request the hash of the branch's newest commit."""
        started = time.perf_counter()
        await _run_git("ls-remote", self._url, f"refs/heads/{BRANCH}")
        return [time.perf_counter() - started]

    async def request_files(self, corpus: Path, sample: int, *, concurrent: int = _CONCURRENT) -> Sequence[float]:
        """Read ``sample`` files by the host's REST API, some concurrently, and insert a row for each. Return the seconds per file."""

        async def copy_file(path: str, checksum: str) -> None:
            async with self._session.get(f"{self._contents_url}/{path}") as response:
                file = orjson.loads(await response.read())
            await self._pool.execute(_INSERT, *_row(path, checksum, base64.b64decode(file["content"])))

        return await self._copy_files(corpus, sample, copy_file, concurrent)

    async def request_blobs(self, corpus: Path, sample: int) -> Sequence[float]:
        """Read ``sample`` blobs by the git protocol, ten concurrently, and insert a row for each. Return the seconds per file."""

        async def copy_file(path: str, checksum: str) -> None:
            # A request of the git protocol, version 2: 0001 separates capabilities and arguments, and 0000 ends the request.
            capabilities, arguments = [b"command=fetch\n"], [b"no-progress\n", f"want {checksum}\n".encode(), b"done\n"]
            body = b"".join(map(_packet_line, capabilities)) + b"0001" + b"".join(map(_packet_line, arguments)) + b"0000"
            headers = {"Git-Protocol": "version=2", "Content-Type": "application/x-git-upload-pack-request"}
            async with self._session.post(f"{self._url}/git-upload-pack", data=body, headers=headers) as response:
                pack = await response.read()
            await self._pool.execute(_INSERT, *_row(path, checksum, _unpack(pack)))

        return await self._copy_files(corpus, sample, copy_file)

    async def _copy_files(
        self, corpus: Path, sample: int, copy_file: Callable[[str, str], Awaitable[None]], concurrent: int = _CONCURRENT
    ) -> Sequence[float]:
        """Call ``copy_file`` with the path and the hash of each of ``sample`` files. Return the seconds per file."""
        await self._pool.execute("truncate bare")
        # A line is MODE TYPE HASH, a tab, and the path.
        lines = git(corpus, "ls-tree", "-r", BRANCH).splitlines()
        remaining = itertools.islice(((line.split("\t")[1], line.split()[2]) for line in lines), sample)

        async def copy_remaining() -> None:
            for path, checksum in remaining:
                await copy_file(path, checksum)

        started = time.perf_counter()
        await asyncio.gather(*(copy_remaining() for _ in range(concurrent)))
        return [(time.perf_counter() - started) / sample]


async def _run_git(*arguments: str) -> None:
    """Run git without its output. Raises RuntimeError if it fails."""
    process = await asyncio.create_subprocess_exec("git", *arguments, env=_ENVIRONMENT, stdout=asyncio.subprocess.DEVNULL)
    if await process.wait():
        raise RuntimeError(f"git {arguments[0]} failed")


def _blobs(folder: Path) -> Iterator[tuple[str, str, bytes]]:
    """Yield the path, the hash and the body of each file of the newest commit."""
    repository = pygit2.Repository(str(folder))

    def walk(tree: pygit2.Tree, directory: str) -> Iterator[tuple[str, str, bytes]]:
        for item in tree:
            if isinstance(item, pygit2.Tree):
                yield from walk(item, f"{directory}{item.name}/")
            elif isinstance(item, pygit2.Blob):
                yield f"{directory}{item.name}", str(item.id), item.data

    yield from walk(repository.revparse_single(BRANCH).peel(pygit2.Tree), "")


def _row(path: str, checksum: str, body: bytes) -> tuple[Any, ...]:
    """Return the row of a file, in the order of ``_COLUMNS``."""
    spec = orjson.loads(body)
    return (uuid.uuid4(), "default", spec["uid"], path, checksum, spec["title"], spec["tags"], orjson.dumps(spec).decode())


def _packet_line(line: bytes) -> bytes:
    """Return a line of the git protocol with its length, which includes the four digits of the length."""
    return f"{len(line) + 4:04x}".encode() + line


def _unpack(response: bytes) -> bytes:
    """Return the only object of the pack in a response."""
    # Lines that begin with the band 1 contain the pack.
    pack = b"".join(line[1:] for line in _packet_lines(response) if line[:1] == b"\1")
    # The header of a pack has twelve bytes. The header of an object ends at the first byte below 0x80.
    start = 12
    while pack[start] & 0x80:
        start += 1
    return zlib.decompressobj().decompress(pack[start + 1 :])


def _packet_lines(response: bytes) -> Iterator[bytes]:
    """Yield the lines of a response in the git protocol without their lengths. Separators are empty lines."""
    offset = 0
    while offset < len(response):
        length = int(response[offset : offset + 4], 16)
        yield response[offset + 4 : offset + length]
        # The number of a separator, 0000 to 0002, is not a length: only its four digits are skipped.
        offset += max(length, 4)

"""The references of syncs: the minimum of work for all files together, and one request per file."""

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

_TABLE: Final = """
create table bare (
    uid uuid primary key, namespace text not null, name text not null, path text not null, checksum text not null, title text not null,
    tags text[] not null, spec text compression lz4 not null, unique (namespace, name)
)
"""
_COLUMNS: Final = ("uid", "namespace", "name", "path", "checksum", "title", "tags", "spec")
_INSERT: Final = "insert into bare values ($1, $2, $3, $4, $5, $6, $7, $8)"
_AT_ONCE: Final = 10
_QUIET: Final = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class Floor:
    """The minimum of work on a repository over HTTP. Each round returns one figure in seconds."""

    def __init__(self, url: str, contents: str, folder: Path, pool: "asyncpg.Pool[Any]", session: aiohttp.ClientSession) -> None:
        self._url = url
        self._contents = contents
        self._folder = folder
        self._pool = pool
        self._session = session

    @classmethod
    async def open(cls, opened: AsyncExitStack, database_url: str, url: str, contents: str, folder: Path) -> Self:
        """Open the connections."""
        pool = await opened.enter_async_context(asyncpg.create_pool(database_url, min_size=_AT_ONCE, max_size=_AT_ONCE))
        await pool.execute(_TABLE)
        session = await opened.enter_async_context(aiohttp.ClientSession(auto_decompress=False))
        return cls(url, contents, folder, pool, session)

    async def clone(self) -> Sequence[float]:
        """Clone, read, parse, and copy into a table like the store's, all in one transaction."""
        await self._pool.execute("truncate bare")
        place = self._folder / "clone.git"
        shutil.rmtree(place, ignore_errors=True)
        started = time.perf_counter()
        await _run("clone", "--quiet", "--bare", self._url, str(place))
        rows = [_row(path, checksum, body) for path, checksum, body in _blobs(place)]
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.copy_records_to_table("bare", records=rows, columns=_COLUMNS)
        return [time.perf_counter() - started]

    async def ls_remote(self) -> Sequence[float]:
        """List the references of the remote."""
        started = time.perf_counter()
        await _run("ls-remote", self._url, f"refs/heads/{BRANCH}")
        return [time.perf_counter() - started]

    async def rest(self, corpus: Path, sample: int, *, workers: int = _AT_ONCE) -> Sequence[float]:
        """Read files by the host's REST interface, some concurrently, and write a row each; return seconds per file."""

        async def one(path: str, checksum: str) -> None:
            async with self._session.get(f"{self._contents}/{path}") as response:
                found = orjson.loads(await response.read())
            await self._pool.execute(_INSERT, *_row(path, checksum, base64.b64decode(found["content"])))

        return await self._by_file(corpus, sample, one, workers)

    async def blobs(self, corpus: Path, sample: int) -> Sequence[float]:
        """Read files as blobs from git itself, ten concurrently, and write a row each; return seconds per file."""

        async def one(path: str, checksum: str) -> None:
            asked = [b"command=fetch\n", None, b"no-progress\n", f"want {checksum}\n".encode(), b"done\n"]
            body = b"".join(b"0001" if line is None else f"{len(line) + 4:04x}".encode() + line for line in asked) + b"0000"
            headers = {"Git-Protocol": "version=2", "Content-Type": "application/x-git-upload-pack-request"}
            async with self._session.post(f"{self._url}/git-upload-pack", data=body, headers=headers) as response:
                pack = await response.read()
            await self._pool.execute(_INSERT, *_row(path, checksum, _unpacked(pack)))

        return await self._by_file(corpus, sample, one)

    async def _by_file(
        self, corpus: Path, sample: int, one: Callable[[str, str], Awaitable[None]], workers: int = _AT_ONCE
    ) -> Sequence[float]:
        await self._pool.execute("truncate bare")
        lines = git(corpus, "ls-tree", "-r", BRANCH).splitlines()
        files = itertools.islice(((line.split("\t")[1], line.split()[2]) for line in lines), sample)

        async def work() -> None:
            for path, checksum in files:
                await one(path, checksum)

        started = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(workers)))
        return [(time.perf_counter() - started) / sample]


async def _run(*arguments: str) -> None:
    process = await asyncio.create_subprocess_exec("git", *arguments, env=_QUIET, stdout=asyncio.subprocess.DEVNULL)
    if await process.wait():
        raise RuntimeError(f"git {arguments[0]} failed")


def _blobs(place: Path) -> Iterator[tuple[str, str, bytes]]:
    repository = pygit2.Repository(str(place))

    def walk(tree: pygit2.Tree, above: str) -> Iterator[tuple[str, str, bytes]]:
        for item in tree:
            if isinstance(item, pygit2.Tree):
                yield from walk(item, f"{above}{item.name}/")
            elif isinstance(item, pygit2.Blob):
                yield f"{above}{item.name}", str(item.id), item.data

    yield from walk(repository.revparse_single(BRANCH).peel(pygit2.Tree), "")


def _row(path: str, checksum: str, body: bytes) -> tuple[Any, ...]:
    spec = orjson.loads(body)
    return (uuid.uuid4(), "default", spec["uid"], path, checksum, spec["title"], spec["tags"], orjson.dumps(spec).decode())


def _unpacked(answer: bytes) -> bytes:
    """Return the only object of a pack. The header of the pack has twelve bytes; that of the object ends at the first byte below 0x80."""
    pack = b"".join(line[1:] for line in _lines(answer) if line[:1] == b"\1")
    start = 12
    while pack[start] & 0x80:
        start += 1
    return zlib.decompressobj().decompress(pack[start + 1 :])


def _lines(answer: bytes) -> Iterator[bytes]:
    """Yield the lines of git's response, each preceded by its length. Those of the pack begin with the number of their band."""
    at = 0
    while at < len(answer):
        length = int(answer[at : at + 4], 16)
        yield answer[at + 4 : at + length]
        at += max(length, 4)

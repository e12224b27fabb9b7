"""S1 to S3: one clock in this process, where the worker runs; the git host and PostgreSQL are separate processes."""

import asyncio
import statistics
import sys
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.measurement import Round, Row, in_turns, median_of
from benchmarks.sync.corpus import Corpus
from benchmarks.sync.minimal_sync import Floor
from benchmarks.sync.processor import Processor
from benchmarks.sync.worker import Worker

FEW: Final = 5_000
MANY: Final = 50_000
CHANGED: Final = 10
_SAMPLE: Final = 300
_STALL: Final = 0.05
_ROUND_TRIP_MS: Final = 20


async def full(database_url: str, _amqp_url: str, folder: Path) -> list[Row]:
    """Measure S1: the first sync of a repository."""
    async with AsyncExitStack() as opened:
        corpus, floor, worker, url = await _opened(opened, database_url, folder)
        processor = await Processor.of(database_url)

        async def product() -> Sequence[float]:
            await worker.empty()
            repository, before = await worker.add("bench", url), processor.seconds
            seconds = await worker.sync("bench", repository)
            return [seconds, processor.seconds - before, worker.longest_stall]

        async def bare() -> Sequence[float]:
            before = processor.seconds
            return [*await floor.clone(), processor.seconds - before]

        plays: list[Round] = [product, bare, lambda: floor.blobs(corpus.place, _SAMPLE), lambda: floor.rest(corpus.place, _SAMPLE)]
        measured, least, *others = await in_turns(*plays)
    print(f"{corpus.count:,} files of {corpus.size / corpus.count / 1e3:.1f} KB on average", file=sys.stderr)
    seconds, used, stall = (statistics.median(values[index] for values in measured) for index in range(3))
    least_seconds, least_used = (statistics.median(values[index] for values in least) for index in range(2))
    blobs, rest = (median_of(rounds, 50) for rounds in others)
    return [
        Row("S1", f"full sync of {FEW:,}, to clone, read, parse, copy", "s", seconds, least_seconds, 1.8),
        Row("S1", f"full sync of {FEW:,}, processor time, to that of the floor", "s", used, least_used, 1.8),
        Row("S1", f"full sync of {FEW:,}, to a request per blob (of {_SAMPLE})", "s", seconds, blobs * FEW, 1 / 20),
        Row("S1", f"full sync of {FEW:,}, to a REST request per file (of {_SAMPLE})", "s", seconds, rest * FEW, 1 / 20),
        Row("S1", "longest stall of the event loop, to 50 ms", "s", stall, _STALL, 1),
    ]


async def delayed(database_url: str, _amqp_url: str, folder: Path) -> list[Row]:
    """Measure S1 over a network with 20 ms of delay per round trip."""
    async with AsyncExitStack() as opened:
        corpus, floor, worker, url = await _opened(opened, database_url, folder, _ROUND_TRIP_MS)

        async def product() -> Sequence[float]:
            await worker.empty()
            return [await worker.sync("bench", await worker.add("bench", url))]

        plays: list[Round] = [product, floor.clone]
        plays += [partial(floor.rest, corpus.place, _SAMPLE, workers=workers) for workers in (10, 1)]
        seconds, least, many, one = (median_of(rounds, 50) for rounds in await in_turns(*plays))
    text = f"full sync of {FEW:,}, {_ROUND_TRIP_MS} ms per round trip"
    return [
        Row("S1", f"{text}, to clone, read, parse, copy", "s", seconds, least, 1.8),
        Row("S1", f"{text}, to a REST request per file, ten concurrently", "s", seconds, many * FEW, 1 / 10),
        Row("S1", f"{text}, to a REST request per file, in sequence", "s", seconds, one * FEW, 1 / 30),
    ]


async def unchanged(database_url: str, _amqp_url: str, folder: Path) -> list[Row]:
    """Measure S2: the branch has not moved. Fails if a row, version or event of a dashboard or folder is written."""
    async with AsyncExitStack() as opened:
        _, floor, worker, url = await _opened(opened, database_url, folder)
        uid = await worker.add("bench", url)
        await worker.sync("bench", uid)
        before = await worker.written()

        async def product() -> Sequence[float]:
            return [await worker.sync("bench", uid) for _ in range(5)]

        async def reference() -> Sequence[float]:
            return [seconds for _ in range(5) for seconds in await floor.ls_remote()]

        measured, bare = await in_turns(product, reference)
        if await worker.written() != before:
            raise AssertionError(f"a sync of nothing has written: {before} became {await worker.written()}")
    return [Row("S2", "nothing changed, to git ls-remote", "ms", median_of(measured, 50) * 1e3, median_of(bare, 50) * 1e3, 3)]


async def incremental(database_url: str, _amqp_url: str, folder: Path) -> list[Row]:
    """Measure S3: the same change to few files and to many."""
    async with AsyncExitStack() as opened:
        worker = await Worker.open(opened, database_url, folder)
        host, _ = await served(opened, folder)
        plays = []
        for name, count in (("many", MANY), ("few", FEW)):
            corpus = await asyncio.to_thread(Corpus.make, folder, name, count)
            uid = await worker.add(name, f"{host}/{name}.git")
            print(f"the first {count:,}: {await worker.sync(name, uid):.1f} s", file=sys.stderr)
            plays.append(_changing(worker, corpus, uid))
        await worker.settle()
        many, few = [median_of(rounds, 50) * 1e3 for rounds in await in_turns(*plays)]
    return [Row("S3", f"{CHANGED} of {MANY:,} changed, to {CHANGED} of {FEW:,}", "ms", many, few, 1.3)]


def _changing(worker: Worker, corpus: Corpus, uid: uuid.UUID) -> Round:
    async def play() -> Sequence[float]:
        seconds = []
        for _ in range(3):
            await asyncio.to_thread(corpus.change, CHANGED)
            seconds.append(await worker.sync(corpus.place.stem, uid, incremental=True))
        return seconds

    return play


async def _opened(opened: AsyncExitStack, database_url: str, folder: Path, round_trip_ms: int = 0) -> tuple[Corpus, Floor, Worker, str]:
    corpus = await asyncio.to_thread(Corpus.make, folder, "bench", FEW)
    host, contents = await served(opened, folder)
    if round_trip_ms:
        host, contents = await _printed(opened, 2, "benchmarks.sync.network", str(round_trip_ms), host, contents)
    url = f"{host}/{corpus.place.name}"
    floor = await Floor.open(opened, database_url, url, f"{contents}/{corpus.place.name}", folder)
    return corpus, floor, await Worker.open(opened, database_url, folder), url


async def served(opened: AsyncExitStack, folder: Path) -> tuple[str, str]:
    """Return the addresses of a git host for the repositories of a folder, and of its files by path."""
    git, contents = await _printed(opened, 2, "benchmarks.sync.host", str(folder))
    return git, contents


async def _printed(opened: AsyncExitStack, count: int, module: str, *arguments: str) -> list[str]:
    """Run a module in a process, and return the first lines that it prints."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, *arguments, stdout=asyncio.subprocess.PIPE)
    opened.push_async_callback(process.wait)
    opened.callback(process.terminate)
    assert process.stdout is not None
    return [(await process.stdout.readline()).decode().strip() for _ in range(count)]

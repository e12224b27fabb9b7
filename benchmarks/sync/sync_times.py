"""S1 to S3: the time of syncs by a worker in this process. The git host and PostgreSQL are separate processes."""

import asyncio
import statistics
import sys
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.measurement import Round, Row, alternate, median_ms, median_percentile
from benchmarks.sync.corpus import Corpus
from benchmarks.sync.minimal_sync import MinimalSync
from benchmarks.sync.processor import ProcessorClock
from benchmarks.sync.worker import Worker

#: Files of the small and of the large repository.
SMALL_CORPUS: Final = 5_000
LARGE_CORPUS: Final = 50_000
#: Files of a commit of S3.
_CHANGED_FILES: Final = 10
#: Syncs, or calls of the reference, of a round of S2.
_CALLS_PER_ROUND: Final = 5
#: Commits of a round of S3.
_COMMITS_PER_ROUND: Final = 3
#: Files that the references request one by one. Their time per file is multiplied by the number of files.
_SAMPLE_FILES: Final = 300
#: The goal for the longest stall of the event loop.
_LONGEST_STALL_SECONDS: Final = 0.05
#: The delay of the simulated network.
_ROUND_TRIP_MS: Final = 20


async def first_sync(database_url: str, _amqp_url: str, folder: Path) -> list[Row]:
    """Measure S1: the first sync of a repository."""
    async with AsyncExitStack() as exit_stack:
        corpus, reference, worker, url = await _start(exit_stack, database_url, folder)
        processor = await ProcessorClock.for_database(database_url)

        async def product() -> Sequence[float]:
            """Return the seconds of a first sync, its processor time and the longest stall."""
            await worker.delete_all()
            repository, used_before = await worker.add("bench", url), processor.seconds
            seconds = await worker.sync("bench", repository)
            return [seconds, processor.seconds - used_before, worker.longest_stall_seconds]

        async def minimal() -> Sequence[float]:
            """Return the seconds of the minimal program and its processor time."""
            used_before = processor.seconds
            [seconds] = await reference.clone()
            return [seconds, processor.seconds - used_before]

        product_rounds, minimal_rounds, blob_rounds, rest_rounds = await alternate(
            product,
            minimal,
            partial(reference.request_blobs, corpus.folder, _SAMPLE_FILES),
            partial(reference.request_files, corpus.folder, _SAMPLE_FILES),
        )
    print(f"{corpus.count:,} files of {corpus.size / corpus.count / 1e3:.1f} KB on average", file=sys.stderr)
    seconds, processor_seconds, stall_seconds = map(statistics.median, zip(*product_rounds, strict=True))
    minimal_seconds, minimal_processor_seconds = map(statistics.median, zip(*minimal_rounds, strict=True))
    # Multiplied from the seconds per file to those of the whole repository.
    blobs_seconds, rest_seconds = [median_percentile(rounds, 50) * SMALL_CORPUS for rounds in (blob_rounds, rest_rounds)]
    return [
        Row("S1", f"full sync of {SMALL_CORPUS:,}, to clone, read, parse, copy", "s", seconds, minimal_seconds, 1.8),
        Row(
            "S1",
            f"full sync of {SMALL_CORPUS:,}, processor time, to that of the floor",
            "s",
            processor_seconds,
            minimal_processor_seconds,
            1.8,
        ),
        Row("S1", f"full sync of {SMALL_CORPUS:,}, to a request per blob (of {_SAMPLE_FILES})", "s", seconds, blobs_seconds, 1 / 20),
        Row("S1", f"full sync of {SMALL_CORPUS:,}, to a REST request per file (of {_SAMPLE_FILES})", "s", seconds, rest_seconds, 1 / 20),
        Row("S1", "longest stall of the event loop, to 50 ms", "s", stall_seconds, _LONGEST_STALL_SECONDS, 1),
    ]


async def first_sync_with_delay(database_url: str, _amqp_url: str, folder: Path) -> list[Row]:
    """Measure S1 over a network in which a round trip takes 20 ms."""
    async with AsyncExitStack() as exit_stack:
        corpus, reference, worker, url = await _start(exit_stack, database_url, folder, _ROUND_TRIP_MS)

        async def product() -> Sequence[float]:
            await worker.delete_all()
            return [await worker.sync("bench", await worker.add("bench", url))]

        concurrent_files = partial(reference.request_files, corpus.folder, _SAMPLE_FILES, concurrent=10)
        single_files = partial(reference.request_files, corpus.folder, _SAMPLE_FILES, concurrent=1)
        measured = await alternate(product, reference.clone, concurrent_files, single_files)
    seconds, clone_seconds, concurrent_seconds, single_seconds = [median_percentile(rounds, 50) for rounds in measured]
    label = f"full sync of {SMALL_CORPUS:,}, {_ROUND_TRIP_MS} ms per round trip"
    return [
        Row("S1", f"{label}, to clone, read, parse, copy", "s", seconds, clone_seconds, 1.8),
        Row(
            "S1",
            f"{label}, to a REST request per file, ten concurrently",
            "s",
            seconds,
            concurrent_seconds * SMALL_CORPUS,
            1 / 10,
        ),
        Row("S1", f"{label}, to a REST request per file, in sequence", "s", seconds, single_seconds * SMALL_CORPUS, 1 / 30),
    ]


async def unchanged_sync(database_url: str, _amqp_url: str, folder: Path) -> list[Row]:
    """Measure S2: syncs of a branch without new commits.

    Raises AssertionError if such a sync writes a row, version or event of a dashboard or folder.
    """
    async with AsyncExitStack() as exit_stack:
        _, reference, worker, url = await _start(exit_stack, database_url, folder)
        uid = await worker.add("bench", url)
        await worker.sync("bench", uid)
        counts = await worker.write_counts()

        async def product() -> Sequence[float]:
            return [await worker.sync("bench", uid) for _ in range(_CALLS_PER_ROUND)]

        async def list_remote() -> Sequence[float]:
            return [seconds for _ in range(_CALLS_PER_ROUND) for seconds in await reference.ls_remote()]

        product_seconds, reference_seconds = await alternate(product, list_remote)
        if (new_counts := await worker.write_counts()) != counts:
            raise AssertionError(f"a sync without changes has written: {counts} became {new_counts}")
    return [Row("S2", "nothing changed, to git ls-remote", "ms", median_ms(product_seconds), median_ms(reference_seconds), 3)]


async def incremental_sync(database_url: str, _amqp_url: str, folder: Path) -> list[Row]:
    """Measure S3: a commit of ten files, in a large repository and in a small one."""
    async with AsyncExitStack() as exit_stack:
        worker = await Worker.open(exit_stack, database_url, folder)
        host_url, _ = await start_host(exit_stack, folder)
        rounds = []
        for name, count in (("large", LARGE_CORPUS), ("small", SMALL_CORPUS)):
            corpus = await asyncio.to_thread(Corpus.make, folder, name, count)
            uid = await worker.add(name, f"{host_url}/{name}.git")
            print(f"the first {count:,}: {await worker.sync(name, uid):.1f} s", file=sys.stderr)
            rounds.append(_syncs_of_changes(worker, corpus, uid))
        await worker.vacuum()
        large_ms, small_ms = [median_ms(seconds) for seconds in await alternate(*rounds)]
    return [
        Row(
            "S3",
            f"{_CHANGED_FILES} of {LARGE_CORPUS:,} changed, to {_CHANGED_FILES} of {SMALL_CORPUS:,}",
            "ms",
            large_ms,
            small_ms,
            1.3,
        )
    ]


def _syncs_of_changes(worker: Worker, corpus: Corpus, uid: uuid.UUID) -> Round:
    """Return a round of commits, each of which is synced. Its figures are the seconds of the syncs."""

    async def run_round() -> Sequence[float]:
        seconds = []
        for _ in range(_COMMITS_PER_ROUND):
            await asyncio.to_thread(corpus.change, _CHANGED_FILES)
            seconds.append(await worker.sync(corpus.folder.stem, uid, incremental=True))
        return seconds

    return run_round


async def _start(
    exit_stack: AsyncExitStack, database_url: str, folder: Path, round_trip_ms: int = 0
) -> tuple[Corpus, MinimalSync, Worker, str]:
    """Create a repository, start a git host and a worker. Return the repository, the reference, the worker and the repository's URL."""
    corpus = await asyncio.to_thread(Corpus.make, folder, "bench", SMALL_CORPUS)
    host_url, control_url = await start_host(exit_stack, folder)
    if round_trip_ms:
        host_url, control_url = await _start_module(exit_stack, 2, "benchmarks.sync.network", str(round_trip_ms), host_url, control_url)
    url = f"{host_url}/{corpus.folder.name}"
    reference = await MinimalSync.open(exit_stack, database_url, url, f"{control_url}/{corpus.folder.name}", folder)
    return corpus, reference, await Worker.open(exit_stack, database_url, folder), url


async def start_host(exit_stack: AsyncExitStack, folder: Path) -> tuple[str, str]:
    """Start a git host for the repositories of a folder. Return its URL, and that of its control server."""
    host_url, control_url = await _start_module(exit_stack, 2, "benchmarks.sync.host", str(folder))
    return host_url, control_url


async def _start_module(exit_stack: AsyncExitStack, line_count: int, module: str, *arguments: str) -> list[str]:
    """Start a module as a process, and return its first lines, which it prints when it is ready."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, *arguments, stdout=asyncio.subprocess.PIPE)
    exit_stack.push_async_callback(process.wait)
    exit_stack.callback(process.terminate)
    assert process.stdout is not None
    return [(await process.stdout.readline()).decode().strip() for _ in range(line_count)]

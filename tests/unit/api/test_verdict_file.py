"""The file of verdicts on the items of a batch: its content, its size, and the error of a full disk."""

import errno
import tempfile
from collections.abc import Iterator, Sequence
from random import Random

import pytest

from dashwright.api.batches.verdict_file import VerdictFile
from dashwright.common.errors import Unavailable
from dashwright.common.models.batch import ItemVerdict


def verdict_of(index: int) -> ItemVerdict:
    """Return the verdict on an item: an odd item is accepted, and an even item is refused with a reason."""
    if index % 2 == 1:
        return ItemVerdict(index=index, id=f"item-{index}", status="accepted")
    return ItemVerdict(index=index, id=f"item-{index}", status="refused", message=f"line {index}: the batch has 200,000 items")


def verdicts(count: int) -> Iterator[Sequence[ItemVerdict]]:
    """Yield the verdicts on items in groups of at most 500."""
    for start in range(0, count, 500):
        yield [verdict_of(index) for index in range(start, min(start + 500, count))]


async def read_file(file: VerdictFile) -> tuple[bytes, int]:
    """Return the content of a file, and the size of its largest part."""
    file.rewind()
    parts = [part async for part in file]
    await file.aclose()
    return b"".join(parts), max(map(len, parts), default=0)


@pytest.mark.parametrize("count", [0, 1, 500, 20_000])
async def test_the_lines_are_read_as_they_were_written(count: int) -> None:
    """Each verdict is one line, in the order of writing, and the file is read in parts of at most 64 KiB."""
    file, lines = VerdictFile(), b""
    for group in verdicts(count):
        file.write(group)
        lines += b"".join(verdict.to_json() + b"\n" for verdict in group)
    content, largest = await read_file(file)
    assert content == lines
    assert largest <= 64 * 1024


async def test_lines_that_cannot_be_compressed_are_read_as_they_were_written() -> None:
    """Verdicts with random ids, which hardly shrink by compression, are read as they were written."""
    random, file = Random(1), VerdictFile()
    group = [ItemVerdict(index=index, id=random.randbytes(50).hex(), status="accepted") for index in range(5000)]
    file.write(group)
    content, _ = await read_file(file)
    assert content == b"".join(verdict.to_json() + b"\n" for verdict in group)


async def test_a_large_file_is_compressed() -> None:
    """The file of 100,000 verdicts has less than a tenth of the bytes of their lines."""
    file = VerdictFile()
    for group in verdicts(100_000):
        file.write(group)
    stored_bytes = file._file.tell()
    content, _ = await read_file(file)
    assert stored_bytes < len(content) / 10


async def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of a full disk says what the client should do."""

    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = VerdictFile()
    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "write", refuse)
    with pytest.raises(Unavailable, match="no room for the verdicts in its temporary directory; send the items again"):
        file.rewind()
    await file.aclose()

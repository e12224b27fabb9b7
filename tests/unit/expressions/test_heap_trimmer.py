"""The C library returns freed heap memory to the system."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from dashwright.expressions import heap_trimmer

#: A program that frees every second of eight large blocks, and prints how many bytes of the freed blocks the process still has.
_PROGRAM = """
from pathlib import Path
from dashwright.expressions.heap_trimmer import map_large_blocks

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

map_large_blocks()
size = 16 * 2**20
bytearray(size)  # by default, the C library then keeps blocks of this size in its heap
start = resident()
blocks = [bytearray(b"x") * size for _ in range(8)]
del blocks[::2]
print(resident() - start - 4 * size)
"""

# Less than one of the four freed blocks may remain.
_BLOCK_BYTES = 16 * 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="the test reads /proc")
def test_memory_of_freed_large_blocks_is_returned_between_blocks_in_use() -> None:
    """Freed large blocks are returned to the system, even if blocks between them are in use."""
    output = subprocess.run([sys.executable, "-c", _PROGRAM], check=True, capture_output=True, text=True).stdout
    assert int(output) < _BLOCK_BYTES


def test_a_trim_that_is_due_while_the_loop_is_closed_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trim while the event loop shuts down is skipped without an error, because the executor then refuses work."""
    monkeypatch.setattr(heap_trimmer, "_DELAY_SECONDS", 0)
    errors: list[dict[str, Any]] = []

    async def end_after_large_request() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: errors.append(context))
        await loop.shutdown_default_executor()
        heap_trimmer.HeapTrimmer().trim_after(2**30)
        # One round starts the timer, and the next one runs it.
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    with asyncio.Runner() as runner:
        runner.run(end_after_large_request())
    assert errors == []

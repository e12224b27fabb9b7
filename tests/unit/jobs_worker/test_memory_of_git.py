"""The limit on the memory of git programs, which is smaller than the memory of the container."""

import subprocess
from pathlib import Path

import pytest

from dashwright.jobs_worker.adapters.git.memory import allowed_bytes, limited_command

GIB = 1 << 30


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(f"{GIB}\n", GIB // 2, id="1 GiB"),
        pytest.param(f"{16 * GIB}\n", 2 * GIB, id="16 GiB"),
        pytest.param("max\n", 2 * GIB, id="no limit"),
        pytest.param("9223372036854771712\n", 2 * GIB, id="no limit in cgroup v1"),
        pytest.param(None, 2 * GIB, id="no file"),
    ],
)
def test_git_may_use_half_of_the_container(tmp_path: Path, content: str | None, expected: int) -> None:
    """A git program may use half of the container's memory, and 2 GiB in a larger container or without a limit."""
    file = tmp_path / "memory.max"
    if content is not None:
        file.write_text(content)
    assert allowed_bytes([tmp_path / "none", file]) == expected


def test_the_system_ends_git_before_the_worker() -> None:
    """If memory is used up, the system ends the git program, because the program has the highest score."""
    # Any program may run in place of git.
    command = limited_command().replace("exec git", "exec")
    result = subprocess.run(["sh", "-c", command, "sh", "cat", "/proc/self/oom_score_adj"], check=True, capture_output=True, text=True)
    # The highest possible score.
    assert result.stdout == "1000\n"
    assert result.stderr == ""

"""New bare repositories: checks by git and libgit2, and the memory that their creation needs."""

import ctypes
import stat
from pathlib import Path

import pygit2
import pytest
from tests.servers.git import git

from dashwright.jobs_worker.adapters.git.bare_repository import create_bare_repository


class _HeapUse(ctypes.Structure):
    """The structure ``mallinfo2`` of the GNU C library. The test reads one of its fields."""

    _fields_ = (("before", ctypes.c_size_t * 7), ("bytes_in_use", ctypes.c_size_t), ("after", ctypes.c_size_t * 2))


def heap_bytes() -> int:
    """Return the bytes of the C heap that are in use."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        pytest.skip("only the GNU C library reports the memory in use")
    library.mallinfo2.restype = _HeapUse
    return int(library.mallinfo2().bytes_in_use)


def test_git_and_libgit2_accept_a_new_repository(tmp_path: Path) -> None:
    """A new repository is bare, private and free of faults, and objects and references can be added to it."""
    create_bare_repository(tmp_path / "new")
    assert git(tmp_path / "new", "rev-parse", "--is-bare-repository", "--git-dir").split() == ["true", "."]
    git(tmp_path / "new", "fsck", "--strict")
    repository = pygit2.Repository(str(tmp_path / "new"))
    assert repository.is_bare
    repository.references.create("refs/tags/blob", repository.create_blob(b"x"))
    assert git(tmp_path / "new", "cat-file", "-p", "refs/tags/blob") == "x"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_an_interrupted_creation_is_not_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory whose creation stopped before its last file is not taken for a repository."""
    write_text = Path.write_text

    def write_all_but_head(path: Path, text: str) -> int:
        if path.name == "HEAD":
            raise OSError("interrupted")
        return write_text(path, text)

    monkeypatch.setattr(Path, "write_text", write_all_but_head)
    with pytest.raises(OSError, match="interrupted"):
        create_bare_repository(tmp_path / "new")
    assert pygit2.discover_repository(str(tmp_path / "new")) is None


def test_no_memory_is_kept(tmp_path: Path) -> None:
    """Memory that is used to create a repository is freed: a worker creates one for each repository and each change of files."""

    def create(count: int, start: int) -> None:
        for number in range(start, start + count):
            create_bare_repository(tmp_path / str(number))

    # The first repositories fill caches.
    create(20, 0)
    before = heap_bytes()
    create(100, 20)
    # 1 KiB for each repository; pygit2 itself keeps 13.
    assert heap_bytes() - before < 100 * 1024

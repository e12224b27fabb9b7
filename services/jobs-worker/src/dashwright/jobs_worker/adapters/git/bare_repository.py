"""Creation of empty bare repositories.

``pygit2.init_repository`` is not used: pygit2 1.21 opens the new repository twice and never frees one of them, about 13 KB.
"""

from pathlib import Path
from typing import Final

_DIRECTORIES: Final = ("objects/info", "objects/pack", "refs/heads", "refs/tags")
_CONFIGURATION: Final = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"


def create_bare_repository(path: Path) -> None:
    """Create an empty repository that only the user of this process can read. Raises OSError, also if the path exists."""
    path.mkdir(mode=0o700, parents=True)
    for directory in _DIRECTORIES:
        (path / directory).mkdir(parents=True)
    (path / "config").write_text(_CONFIGURATION)
    # The file is written last, because a directory without it is not a repository: an interrupted creation is repeated.
    (path / "HEAD").write_text("ref: refs/heads/main\n")

"""Repositories of dashboards, written by ``git fast-import``: thousands of files without a work tree."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import orjson

from benchmarks.generated_dashboards import dashboard_spec

BRANCH: Final = "main"
_FILES_PER_DIRECTORY: Final = 100
#: The numbers of panels, which make files of 10 to 30 KB.
_MIN_PANELS, _MAX_PANELS = 6, 18
#: The environment of git, without the configuration of this machine.
_ENVIRONMENT: Final = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


@dataclass(slots=True)
class Corpus:
    """A bare repository of dashboards, one per file and a hundred files per directory."""

    folder: Path
    #: The number of files.
    count: int
    #: The number of commits after the first one.
    changes: int = 0

    @classmethod
    def make(cls, root: Path, name: str, count: int) -> Self:
        """Create a repository whose objects are packed, as on a git host. Its dashboards are named ``NAME-NUMBER``.

        The variable ``DASHBOARDS`` can name a folder, whose dashboards are then repeated instead of generated ones.
        """
        corpus = cls(root / f"{name}.git", count)
        git(root, "init", "--quiet", "--bare", f"--initial-branch={BRANCH}", str(corpus.folder))
        # A reference requests single blobs by their hash. Without automatic collections, no repack runs during a measurement.
        for key, value in (("uploadpack.allowAnySHA1InWant", "true"), ("gc.auto", "0")):
            git(corpus.folder, "config", key, value)
        dashboards_folder = os.environ.get("DASHBOARDS")
        files = sorted(Path(dashboards_folder).rglob("*.json")) if dashboards_folder else []
        given_specs = [json.loads(file.read_bytes()) for file in files]
        corpus._commit((corpus._path(index), _body(f"{name}-{index:06}", index, given_specs)) for index in range(count))
        git(corpus.folder, "repack", "-a", "-d", "-q")
        return corpus

    def change(self, count: int, *, directories: int = 5) -> str:
        """Commit other dashboards in ``count`` files of some directories, and return their new title, which is the same in all."""
        self.changes += 1
        title = f"change {self.changes}"
        # The numbers are distributed over the repository, and differ from those of the previous change.
        step = self.count // directories
        numbers = [step * (index % directories) + self.changes * count + index for index in range(count)]
        name = self.folder.stem
        bodies = ((number % self.count, dashboard_spec(number, panels=_MIN_PANELS) | {"title": title}) for number in numbers)
        self._commit((self._path(number), _file(f"{name}-{number:06}", body)) for number, body in bodies)
        return title

    @property
    def size(self) -> int:
        """The size of all files of the newest commit, in bytes."""
        entries = git(self.folder, "ls-tree", "-r", "-l", BRANCH)
        return sum(int(line.split()[3]) for line in entries.splitlines())

    def _path(self, number: int) -> str:
        """Return the path of the file with a number."""
        return f"team-{number // _FILES_PER_DIRECTORY:03}/{self.folder.stem}-{number:06}.json"

    def _commit(self, files: Iterator[tuple[str, bytes]]) -> None:
        """Commit files, given as paths and bodies, on top of the newest commit if there is one."""
        command = ["git", "-c", "safe.directory=*", "fast-import", "--quiet", "--done"]
        with subprocess.Popen(command, cwd=self.folder, env=_ENVIRONMENT, stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            process.stdin.write(f"commit refs/heads/{BRANCH}\ncommitter B <b@example.org> {1_700_000_000 + self.changes} +0000\n".encode())
            # The message of the commit is a dot.
            process.stdin.write(b"data 1\n.\n" + (f"from refs/heads/{BRANCH}^0\n".encode() if self.changes else b""))
            for path, body in files:
                process.stdin.write(f"M 100644 inline {path}\ndata {len(body)}\n".encode() + body + b"\n")
            process.stdin.write(b"done\n")
        if process.returncode:
            raise RuntimeError(f"git fast-import ended with {process.returncode}")


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return its output."""
    completed = subprocess.run(["git", "-c", "safe.directory=*", *arguments], cwd=folder, env=_ENVIRONMENT, check=True, capture_output=True)
    return completed.stdout.decode().strip()


def _body(name: str, number: int, given_specs: list[dict[str, Any]]) -> bytes:
    """Return the file of a generated dashboard, or of one of the given dashboards with a title of its own."""
    if not given_specs:
        return _file(name, dashboard_spec(number, panels=_MIN_PANELS + number % (_MAX_PANELS - _MIN_PANELS + 1)))
    spec = given_specs[number % len(given_specs)]
    return _file(name, spec | {"title": f"{spec.get('title')} {number}", "tags": spec.get("tags") or []})


def _file(name: str, spec: dict[str, Any]) -> bytes:
    """Return a file as users store it, indented and with the uid of the dashboard."""
    return orjson.dumps({**spec, "uid": name}, option=orjson.OPT_INDENT_2)

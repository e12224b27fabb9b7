"""Repositories of dashboards, made by git itself from a stream: thousands of files without a work tree."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import orjson

from benchmarks.resources import spec_of

BRANCH: Final = "main"
_A_DIRECTORY: Final = 100
_FEWEST, _MOST = 6, 18  # panels: 10 to 30 KB as a file
_GIT: Final = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


@dataclass(slots=True)
class Corpus:
    """A bare repository of ``count`` files, a hundred a directory, whose dashboards are named after it."""

    place: Path
    count: int
    turns: int = 0

    @classmethod
    def make(cls, root: Path, name: str, count: int) -> Self:
        """Packed as a host packs. With ``DASHBOARDS`` set, of the dashboards in that folder, again and again under names of their own."""
        corpus = cls(root / f"{name}.git", count)
        git(root, "init", "--quiet", "--bare", f"--initial-branch={BRANCH}", str(corpus.place))
        for key, value in (("uploadpack.allowAnySHA1InWant", "true"), ("gc.auto", "0")):
            git(corpus.place, "config", key, value)
        given = os.environ.get("DASHBOARDS")
        real = [json.loads(file.read_bytes()) for file in sorted(Path(given).rglob("*.json"))] if given else []
        corpus._commit((corpus._path(number), _body(f"{name}-{number:06}", number, real)) for number in range(count))
        git(corpus.place, "repack", "-a", "-d", "-q")
        return corpus

    def change(self, count: int, *, directories: int = 5) -> str:
        """A commit in which so many files are another dashboard; answers its title, which they all have."""
        self.turns += 1
        title = f"turn {self.turns}"
        step = self.count // directories
        numbers = [step * (index % directories) + self.turns * count + index for index in range(count)]
        name = self.place.stem
        bodies = ((number % self.count, spec_of(number, panels=_FEWEST) | {"title": title}) for number in numbers)
        self._commit((self._path(at), _file(f"{name}-{at:06}", body)) for at, body in bodies)
        return title

    @property
    def size(self) -> int:
        """Of all files of the newest commit."""
        listed = git(self.place, "ls-tree", "-r", "-l", BRANCH)
        return sum(int(line.split()[3]) for line in listed.splitlines())

    def _path(self, number: int) -> str:
        return f"team-{number // _A_DIRECTORY:03}/{self.place.stem}-{number:06}.json"

    def _commit(self, files: Iterator[tuple[str, bytes]]) -> None:
        command = ["git", "-c", "safe.directory=*", "fast-import", "--quiet", "--done"]
        with subprocess.Popen(command, cwd=self.place, env=_GIT, stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            process.stdin.write(f"commit refs/heads/{BRANCH}\ncommitter B <b@example.org> {1_700_000_000 + self.turns} +0000\n".encode())
            process.stdin.write(b"data 1\n.\n" + (f"from refs/heads/{BRANCH}^0\n".encode() if self.turns else b""))
            for path, body in files:
                process.stdin.write(f"M 100644 inline {path}\ndata {len(body)}\n".encode() + body + b"\n")
            process.stdin.write(b"done\n")
        if process.returncode:
            raise RuntimeError(f"git fast-import ended with {process.returncode}")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-c", "safe.directory=*", *arguments], cwd=folder, env=_GIT, check=True, capture_output=True)
    return done.stdout.decode().strip()


def _body(name: str, number: int, real: list[dict[str, Any]]) -> bytes:
    if not real:
        return _file(name, spec_of(number, panels=_FEWEST + number % (_MOST - _FEWEST + 1)))
    spec = real[number % len(real)]
    return _file(name, spec | {"title": f"{spec.get('title')} {number}", "tags": spec.get("tags") or []})


def _file(name: str, spec: dict[str, Any]) -> bytes:
    """As people keep them: indented, and the uid within."""
    return orjson.dumps({**spec, "uid": name}, option=orjson.OPT_INDENT_2)

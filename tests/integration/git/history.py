"""A random history of dashboard files, with the edits that a team would make. Each revision changes the files of the previous one."""

import json
import posixpath
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pygit2
import yaml
from pygit2.enums import FileMode

Files = dict[str, bytes]

_WORDS: Final = ["CPU", "Memory", "Übersicht", "日本", "p99", "Errors", "Kafka", "node exporter", "SLO", "Émile"]
# Weighted: the root is chosen twice as often.
_DIRECTORIES: Final = ["", "", "infra/", "infra/nodes/", "shop/", "shop/prod/eu/", "team a/", "日本/", ".github/"]
_SUFFIXES: Final = (".json", ".yaml", ".yml")
_BROKEN: Final = (b"{", b"", b"\xff\xfe", b'{"kind": "Secret", "apiVersion": "v1"}')
_SIGNATURE: Final = pygit2.Signature("Test", "t@example.org", 1_700_000_000, 0)


class History:
    """Revisions on the branch ``main`` of a bare repository."""

    def __init__(self, bare: Path, seed: int, directory: str = "") -> None:
        #: Files of the newest revision, relative to ``directory``. The repository has further files outside a ``directory``.
        self.files: Files = {}
        self._directory = directory
        self._repository = pygit2.Repository(str(bare))
        self._random = random.Random(seed)
        self._last_number = 0
        self._newest_commit: pygit2.Oid | None = None

    def revise(self) -> str:
        """Make one more revision, and return a description of it for failure reports."""
        edits = self._random.choices(EDITS, k=self._random.choice((1, 1, 2, 4))) if self._last_number else [History.add] * 12
        before, parents = dict(self.files), [self._newest_commit] if self._newest_commit else []
        for edit in edits:
            edit(self)
        # In one of five cases, the revision is a merge with another commit.
        if parents and self._random.random() < 0.2:
            parents.append(self._commit(before | {"side.json": self._body("side")}, parents))
        self._newest_commit = self._commit(self.files, parents)
        self._repository.references.create("refs/heads/main", self._newest_commit, force=True)
        return ", ".join(edit.__name__ for edit in edits)

    def add(self) -> None:
        """Add a file with a new dashboard."""
        path = self._path()
        self._write(path, self._body(self._name(), path))

    def change(self) -> None:
        """Change the content of a file that keeps its name."""
        if path := self._random_dashboard():
            self._write(path, self._body(self._name_in(path) or self._name(), path))

    def rename(self) -> None:
        """Rename a file, and with it its object, if the file does not contain the name of the object."""
        if path := self._random_dashboard():
            body = self.files.pop(path)
            directory = path[: path.rfind("/") + 1]
            self._write(directory + self._file_name(path), body)

    def move(self) -> None:
        """Move a file to another directory."""
        if path := self._random_dashboard():
            body = self.files.pop(path)
            self._write(self._random.choice(_DIRECTORIES) + path.rpartition("/")[2], body)

    def move_directory(self) -> None:
        """Move a directory, also into an existing one or below itself."""
        directories = sorted({path[: path.rindex("/") + 1] for path in self.files if "/" in path})
        if not directories:
            return
        old = self._random.choice(directories)
        new = self._random.choice([f"moved-{self._next()}/", "infra/", "shop/prod/", f"{old}below/"])
        moved_files = {path: self.files.pop(path) for path in sorted(self.files) if path.startswith(old)}
        for path, body in moved_files.items():
            # Repeated moves of a directory below itself must not exceed the limit on paths.
            self._write((new + path.removeprefix(old))[-200:], body)

    def remove(self) -> None:
        """Remove a file."""
        if path := self._random_dashboard():
            del self.files[path]

    def remove_directory(self) -> None:
        """Remove a top directory with all of its files."""
        if (path := self._random_dashboard()) and "/" in path:
            removed_prefix = path.partition("/")[0] + "/"
            self.files = {path: body for path, body in self.files.items() if not path.startswith(removed_prefix)}

    def damage(self) -> None:
        """Replace a file by a broken one."""
        if path := self._random_dashboard():
            self._write(path, self._random.choice(_BROKEN))

    def repair(self) -> None:
        """Replace broken files, and one of two files that contain the same name."""
        titles = set()
        for path in self._dashboard_paths():
            name = self._name_in(path)
            if name is None or name in titles:
                self._write(path, self._body(self._name(), path))
            titles.add(name or path)

    def rename_object(self) -> None:
        """Replace the object in a file by an object with another name."""
        if path := self._random_dashboard():
            self._write(path, self._body(self._name(), path))

    def copy(self) -> None:
        """Copy a file, so that two files contain the same name."""
        if path := self._random_dashboard():
            self._write(self._path(path.rpartition(".")[2]), self.files[path])

    def convert_to_yaml(self) -> None:
        """Convert a JSON file to YAML, and change its suffix."""
        if (path := self._random_dashboard()) and path.endswith(".json") and self._name_in(path) is not None:
            tree = json.loads(self.files.pop(path))
            self._write(path.removesuffix("json") + "yaml", as_yaml(tree))

    def add_empty_directory(self) -> None:
        """Add a directory without dashboards, which is a folder nevertheless."""
        self._write(f"empty-{self._next()}/why.md", b"")

    def add_file_of_another_tool(self) -> None:
        """Add a file that a sync must ignore."""
        name = self._random.choice(["README.md", ".hidden.json", "logo.png", "Makefile"])
        self._write(self._random.choice(_DIRECTORIES) + name, b"other")

    def replace_file_by_directory(self) -> None:
        """Replace a file by a directory of its name."""
        if path := self._random_dashboard():
            body = self.files.pop(path)
            self._write(f"{path}/inside.{path.rpartition('.')[2]}", body)

    def do_nothing(self) -> None:
        """Make a revision without this edit."""

    def _write(self, path: str, body: bytes) -> None:
        """Write a file, and remove a file or directory at its path first."""
        parents = {path[:end] for end in range(len(path)) if path[end] == "/"}
        self.files = {other: content for other, content in self.files.items() if other not in parents and not other.startswith(f"{path}/")}
        self.files[path] = body

    def _body(self, name: str, path: str = "x.json") -> bytes:
        """Return the content of a file with a new dashboard, in three of ten cases as a resource, which may have no name."""
        dashboard = self._dashboard(name)
        if self._random.random() < 0.3:
            dashboard.pop("uid")
            metadata = {"name": name, "labels": {"team": "a"}} if self._random.random() < 0.8 else {}
            dashboard = {"apiVersion": "dashboard.grafana.app/v1beta1", "kind": "Dashboard", "metadata": metadata, "spec": dashboard}
        if not path.endswith(".json"):
            return as_yaml(dashboard)
        return json.dumps(dashboard, indent=self._random.choice([None, 2]), ensure_ascii=self._random.random() < 0.5).encode()

    def _dashboard(self, name: str) -> dict[str, Any]:
        """Return a classic dashboard with a variable and up to five panels."""

        def panel(number: int) -> dict[str, Any]:
            query = f'sum by (pod) (rate({name.replace("-", "_")}_total{{job=~"$job"}}[5m])) / {self._random.random()}'
            grid = {"x": number % 2 * 12, "y": number // 2 * 8, "w": 12, "h": 8}
            return {"id": number, "type": "timeseries", "title": self._words(), "gridPos": grid, "targets": [{"refId": "A", "expr": query}]}

        variable = {"name": "job", "type": "query", "query": "label_values(job)", "includeAll": True, "current": {}}
        spec = {"uid": name, "title": self._words(), "schemaVersion": 41, "tags": [self._words()], "templating": {"list": [variable]}}
        return {**spec, "panels": [panel(number) for number in range(self._random.randrange(1, 6))], "version": self._random.randrange(99)}

    def _words(self) -> str:
        """Return two words and a number that no other text has."""
        return " ".join(self._random.choices(_WORDS, k=2)) + f" {self._next()}"

    def _name(self) -> str:
        """Return a name, in one of ten cases one that another file may contain, too."""
        return f"d-{self._random.randrange(40)}" if self._random.random() < 0.1 else f"n-{self._next()}"

    def _path(self, suffix: str = "") -> str:
        """Return a new path, with a random suffix if ``suffix`` is empty."""
        suffix = suffix or self._random.choice(("json", "json", "yaml", "yml"))
        return self._random.choice(_DIRECTORIES) + self._file_name(f".{suffix}")

    def _file_name(self, suffix_or_path: str) -> str:
        """Return a new file name with the suffix of another file."""
        return f"board {self._next()}.{suffix_or_path.rpartition('.')[2]}"

    def _random_dashboard(self) -> str:
        """Return the path of a file that should contain a dashboard."""
        dashboards = self._dashboard_paths()
        return self._random.choice(dashboards) if dashboards else ""

    def _dashboard_paths(self) -> list[str]:
        """Return the paths of visible files that may contain a dashboard."""
        return sorted(path for path in self.files if path.endswith(_SUFFIXES) and "/." not in f"/{path}")

    def _name_in(self, path: str) -> str | None:
        """Return the name that a file contains, or an empty one; None for a broken file."""
        if self.files[path] in _BROKEN:
            return None
        tree = yaml.safe_load(self.files[path])
        return str(tree.get("metadata", {}).get("name") or tree.get("spec", tree).get("uid") or "")

    def _next(self) -> int:
        """Return a new number."""
        self._last_number += 1
        return self._last_number

    def _commit(self, files: Files, parents: Sequence[pygit2.Oid]) -> pygit2.Oid:
        """Make a commit of the files, and of files outside the directory."""
        index = pygit2.Index()
        complete = self._files_outside() | {f"{self._directory}/{path}": body for path, body in files.items()} if self._directory else files
        for path, body in complete.items():
            index.add(pygit2.IndexEntry(path, self._repository.create_blob(body), FileMode.BLOB))
        tree = index.write_tree(self._repository)
        return self._repository.create_commit(None, _SIGNATURE, _SIGNATURE, f"revision {self._last_number}", tree, list(parents))

    def _files_outside(self) -> Files:
        """Return files outside the directory, which a sync must ignore. Some are broken, or have the names of files inside."""
        files_outside = [
            f"{self._directory}.json",
            f"{self._directory}-old/board.json",
            f"{self._directory}/../deploy.yaml",
            "values.yaml",
            "d.json",
        ]
        bodies = [*_BROKEN, b"replicas: 3", self._body("noise")]
        return {posixpath.normpath(path): self._random.choice(bodies) for path in files_outside if self._random.random() < 0.7}


def as_yaml(tree: Any) -> bytes:
    """Return a tree as YAML."""
    return str(yaml.safe_dump(tree, allow_unicode=True)).encode()


#: Weighted: broken files are repaired often, so that many revisions have no errors.
EDITS: Final[Sequence[Callable[[History], None]]] = [
    *(History.add, History.change, History.change, History.rename, History.move, History.move_directory, History.remove),
    *(History.remove_directory, History.damage, *[History.repair] * 5, History.rename_object, History.copy, History.convert_to_yaml),
    *(History.add_empty_directory, History.add_file_of_another_tool, History.replace_file_by_directory, History.do_nothing),
]

"""Invalid files of a commit are rejected one by one, each with the reason; all other files are stored."""

import subprocess
from pathlib import Path

from tests.contract.api.git.sync_environment import SyncEnvironment, dashboard, is_healthy
from tests.servers.git import git

MAX_FILE_BYTES = 20_000
LFS = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"

#: Mode, body and a part of the error message by name, for entries of a commit. An empty text is a part of any message.
INVALID_FILES: dict[bytes, tuple[str, bytes, str]] = {
    b"link.json": ("120000", b"good.json", "a symbolic link is not followed"),
    b"escape.json": ("120000", b"../../etc/passwd", "a symbolic link is not followed"),
    b"module.json": ("160000", b"", "a submodule is not entered"),
    b"pointer.json": ("100644", LFS.encode(), "a pointer of Git LFS"),
    b"huge.json": ("100644", dashboard("huge", "x" * MAX_FILE_BYTES).encode(), "at most 20000 are read"),
    b"latin.json": ("100644", '{"uid": "latin", "title": "Übersicht", "panels": []}'.encode("latin-1"), "not UTF-8 at byte 27"),
    b"wide.json": ("100644", dashboard("wide", "W").encode("utf-16"), "not UTF-8 at byte 0"),
    b"cut.json": ("100644", b'{"title": ', "not valid JSON"),
    b"nul.yaml": ("100644", b"title: a\0b\npanels: []\n", ""),
    b"deep.json": ("100644", b'{"panels":' + b"[" * 5_000 + b"]" * 5_000 + b"}", ""),
    b"percent%2e.json": ("100644", b"{}", "path contains %2e"),
    b"%2e%2e%2fa.json": ("100644", b"{}", "path contains %2e"),
    b"b\xff\xfe.json": ("100644", b"{}", "invalid characters"),
    b"new\nline.json": ("100644", b"{}", "invalid characters"),
    b"back\\slash.json": ("100644", b"{}", "invalid characters"),
    "\N{RIGHT-TO-LEFT OVERRIDE}nosj.json".encode(): ("100644", b"{}", "invalid characters"),
    b"x" * 1100 + b".json": ("100644", b"{}", "path too long"),
}
#: Mode and body by name, for entries that are neither stored nor errors.
IGNORED_FILES: dict[bytes, tuple[str, bytes]] = {
    b".hidden.json": ("100644", b"{"),
    b"README.md": ("100644", b"text"),
    b"module": ("160000", b""),
    b"empty.json": ("100644", b""),
    b"package.json": ("100644", b'{"name": "app"}'),
    b"<script>alert(1)<-script>.json": ("100644", b"{}"),
    b"link": ("120000", b"/etc"),
    b"program.sh": ("100755", b"exit 1"),
}


async def test_invalid_files_are_rejected_one_by_one(environment: SyncEnvironment) -> None:
    """Each file with an invalid name, mode, size or content is an error, and valid files are stored. A corrected file is stored, too."""
    await environment.start(repository_file_bytes=MAX_FILE_BYTES)
    valid_files = {"good.json": dashboard("good", "Good"), "ünï çødé/spaced name.json": dashboard("spaced", "Spaced")}
    environment.work_tree.commit({**valid_files, "UPPER.json": dashboard("upper", "U"), "upper.json": dashboard("lower", "L")})
    invalid_entries = [(name, mode, body) for name, (mode, body, _) in INVALID_FILES.items()]
    ignored_entries = [(name, mode, body) for name, (mode, body) in IGNORED_FILES.items()]
    commit_raw(environment.work_tree.folder, invalid_entries + ignored_entries)
    await environment.create_repository()
    status = await environment.status()
    assert status["sync"]["state"] == "error"
    assert await environment.titles() == {"good": "Good", "spaced": "Spaced", "upper": "U", "lower": "L"}
    errors = await environment.errors()
    assert len(errors) == len(INVALID_FILES), errors
    for name, (_, _, reason) in INVALID_FILES.items():
        displayed_name = name.decode(errors="backslashreplace")
        assert any(displayed_name in error and reason in error for error in errors), (displayed_name, errors)
    for name in IGNORED_FILES:
        assert not any(error.startswith(name.decode() + ":") for error in errors)
    environment.work_tree.commit({"link.json": dashboard("link", "Link")})
    assert is_healthy(await environment.advance())
    assert await environment.titles() == {"good": "Good", "spaced": "Spaced", "upper": "U", "lower": "L", "link": "Link"}


def commit_raw(work_tree: Path, files: list[tuple[bytes, str, bytes]]) -> None:
    """Push a commit with further entries, given by name, mode and body, which git would not accept in a work tree."""

    def plumbing(*arguments: str, stdin: bytes = b"") -> bytes:
        """Run a low-level command of git and return its output."""
        return subprocess.run(["git", *arguments], cwd=work_tree, input=stdin, check=True, capture_output=True).stdout

    listing = plumbing("ls-tree", "-z", "HEAD")
    for name, mode, body in files:
        is_submodule = mode == "160000"
        if is_submodule:
            kind, sha = "commit", git(work_tree, "rev-parse", "HEAD")
        else:
            kind, sha = "blob", plumbing("hash-object", "-w", "--stdin", stdin=body).decode().strip()
        listing += f"{mode} {kind} {sha}\t".encode() + name + b"\0"
    tree = plumbing("mktree", "-z", "--missing", stdin=listing).decode().strip()
    commit = git(work_tree, "commit-tree", "-p", "HEAD", "-m", "odd", tree)
    git(work_tree, "push", "--quiet", "origin", f"{commit}:refs/heads/main")


async def test_entries_that_lead_out_of_the_tree_are_ignored(environment: SyncEnvironment) -> None:
    """Tree entries such as ``..`` and ``.git`` are ignored, and the other files are stored."""
    environment.work_tree.commit({"good.json": dashboard("good", "Good")})
    valid_file = (b"evil.json", "100644", dashboard("evil", "Evil").encode())
    commit_raw(environment.work_tree.folder, [(b"..", "100644", b"x"), (b".git", "100644", b"x"), valid_file])
    await environment.create_repository()
    assert await environment.titles() == {"good": "Good", "evil": "Evil"}


async def test_only_the_first_file_with_a_name_is_stored(environment: SyncEnvironment) -> None:
    """If two files have dashboards with one name, the first file is stored, and an error names both. After its deletion, the second is."""
    environment.work_tree.commit({"a.json": dashboard("same", "A"), "b.json": dashboard("same", "B")})
    await environment.create_repository()
    assert await environment.titles() == {"same": "A"}
    assert await environment.errors() == ["duplicate resource name: same, b.json and a.json (file: b.json, name: same, action: create)"]
    environment.work_tree.commit({"a.json": None})
    assert is_healthy(await environment.advance())
    assert await environment.titles() == {"same": "B"}


async def test_a_file_with_the_name_of_an_unmanaged_object_is_an_error(environment: SyncEnvironment) -> None:
    """A file with the name of an unmanaged object is an error. After the object is deleted, a sync without a new commit stores the file."""
    dashboards = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
    assert (await environment.api("POST", dashboards, {"metadata": {"name": "cpu"}, "spec": {"title": "By hand"}}))[0] == 201
    environment.work_tree.commit({"a.json": dashboard("a", "A"), "cpu.json": dashboard("cpu", "From git")})
    await environment.create_repository()
    assert await environment.titles() == {"a": "A", "cpu": "By hand"}
    (error,) = await environment.errors()
    assert "resource 'cpu' already exists and is not managed" in error
    assert (await environment.api("DELETE", f"{dashboards}/cpu"))[0] == 200
    assert is_healthy(await environment.advance(600))
    assert await environment.titles() == {"a": "A", "cpu": "From git"}

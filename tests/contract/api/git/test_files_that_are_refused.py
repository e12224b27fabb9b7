"""What a commit holds beside dashboards, or in odd form, is refused file by file with the reason; everything else goes in."""

import subprocess
from pathlib import Path

from tests.contract.api.git.trial import Trial, dashboard, well
from tests.servers.git import git

LARGEST = 20_000
LFS = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"

REFUSED: dict[bytes, tuple[str, bytes, str]] = {
    b"link.json": ("120000", b"good.json", "a symbolic link is not followed"),
    b"escape.json": ("120000", b"../../etc/passwd", "a symbolic link is not followed"),
    b"module.json": ("160000", b"", "a submodule is not entered"),
    b"pointer.json": ("100644", LFS.encode(), "a pointer of Git LFS"),
    b"huge.json": ("100644", dashboard("huge", "x" * LARGEST).encode(), "at most 20000 are read"),
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
"""Names, modes and bodies that git itself takes, and what is said of them."""

LEFT_ALONE: dict[bytes, tuple[str, bytes]] = {
    b".hidden.json": ("100644", b"{"),
    b"README.md": ("100644", b"text"),
    b"module": ("160000", b""),
    b"empty.json": ("100644", b""),
    b"package.json": ("100644", b'{"name": "app"}'),
    b"<script>alert(1)<-script>.json": ("100644", b"{}"),
    b"link": ("120000", b"/etc"),
    b"program.sh": ("100755", b"exit 1"),
}


async def test_each_file_is_judged_alone(trial: Trial) -> None:
    """By its name, its kind, its size and its content; mended, it goes in."""
    await trial.start(repository_file_bytes=LARGEST)
    good = {"good.json": dashboard("good", "Good"), "ünï çødé/spaced name.json": dashboard("spaced", "Spaced")}
    trial.work.commit({**good, "UPPER.json": dashboard("upper", "U"), "upper.json": dashboard("lower", "L")})
    odd = [(name, mode, body) for name, (mode, body, _) in REFUSED.items()] + [(name, *rest) for name, rest in LEFT_ALONE.items()]
    commit_raw(trial.work.folder, odd)
    await trial.make()
    status = await trial.status()
    assert status["sync"]["state"] == "error"
    assert await trial.titles() == {"good": "Good", "spaced": "Spaced", "upper": "U", "lower": "L"}
    errors = await trial.errors()
    assert len(errors) == len(REFUSED), errors
    for name, (_, _, reason) in REFUSED.items():
        shown = name.decode(errors="backslashreplace")
        assert [error for error in errors if shown in error and reason in error], (shown, errors)
    for name in LEFT_ALONE:
        assert not [error for error in errors if error.startswith(name.decode() + ":")]
    trial.work.commit({"link.json": dashboard("link", "Link")})
    assert well(await trial.later())
    assert await trial.titles() == {"good": "Good", "spaced": "Spaced", "upper": "U", "lower": "L", "link": "Link"}


def commit_raw(work: Path, files: list[tuple[bytes, str, bytes]]) -> None:
    """A commit on top of the newest with entries that no work tree would take."""

    def plumbing(*arguments: str, given: bytes = b"") -> bytes:
        return subprocess.run(["git", *arguments], cwd=work, input=given, check=True, capture_output=True).stdout

    listing = plumbing("ls-tree", "-z", "HEAD")
    for name, mode, body in files:
        kind, sha = "commit", git(work, "rev-parse", "HEAD")
        if mode != "160000":
            kind, sha = "blob", plumbing("hash-object", "-w", "--stdin", given=body).decode().strip()
        listing += f"{mode} {kind} {sha}\t".encode() + name + b"\0"
    tree = plumbing("mktree", "-z", "--missing", given=listing).decode().strip()
    commit = git(work, "commit-tree", "-p", "HEAD", "-m", "odd", tree)
    git(work, "push", "--quiet", "origin", f"{commit}:refs/heads/main")


async def test_names_that_lead_out_of_a_tree_lead_nowhere(trial: Trial) -> None:
    """Entries that git's own checkout would refuse: they are no paths here, and nothing is written by them."""
    trial.work.commit({"good.json": dashboard("good", "Good")})
    inner = [(b"evil.json", "100644", dashboard("evil", "Evil").encode())]
    commit_raw(trial.work.folder, [(b"..", "100644", b"x"), (b".git", "100644", b"x"), *inner])
    await trial.make()
    assert await trial.titles() == {"good": "Good", "evil": "Evil"}


async def test_two_files_with_one_name(trial: Trial) -> None:
    """The first keeps it, both are named; once one goes, the other is what it says."""
    trial.work.commit({"a.json": dashboard("same", "A"), "b.json": dashboard("same", "B")})
    await trial.make()
    assert await trial.titles() == {"same": "A"}
    assert await trial.errors() == ["duplicate resource name: same, b.json and a.json"]
    trial.work.commit({"a.json": None})
    assert well(await trial.later())
    assert await trial.titles() == {"same": "B"}


async def test_a_name_that_is_somebody_elses(trial: Trial) -> None:
    """Is refused until its owner lets it go; then it is synced, though nothing was committed since."""
    dashboards = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
    assert (await trial.api("POST", dashboards, {"metadata": {"name": "cpu"}, "spec": {"title": "By hand"}}))[0] == 201
    trial.work.commit({"a.json": dashboard("a", "A"), "cpu.json": dashboard("cpu", "From git")})
    await trial.make()
    assert await trial.titles() == {"a": "A", "cpu": "By hand"}
    (error,) = await trial.errors()
    assert "resource 'cpu' already exists and is not managed" in error
    assert (await trial.api("DELETE", f"{dashboards}/cpu"))[0] == 200
    assert well(await trial.later(600))
    assert await trial.titles() == {"a": "A", "cpu": "From git"}

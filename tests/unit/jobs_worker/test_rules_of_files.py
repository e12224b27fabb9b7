"""Rules of files: valid paths and refs, the entries that an edit changes, and the links to a file at its git host."""

import pytest

from dashwright.common.errors import BadRequest, DashwrightError, PreconditionFailed
from dashwright.common.jobs.workflows import check_write
from dashwright.common.models.provisioning import GitHostRepositoryConfig, RepositorySpec
from dashwright.jobs_worker.domain.files.differences import checksum_of, difference_at, difference_of, files_below
from dashwright.jobs_worker.domain.files.rules import check_extension, effective_ref
from dashwright.jobs_worker.domain.files.wrapper import FileView, urls_of
from dashwright.jobs_worker.domain.objects import Edit, Entry


def spec(*workflows: str, branch: str = "main", kind: str = "githost") -> RepositorySpec:
    """Return the spec of a repository of the type ``githost`` or ``local``, with the permitted workflows."""
    block = {"url": "https://git.example.org/team/boards.git/", "branch": branch} if kind == "githost" else {"path": "/x"}
    return RepositorySpec.model_validate(
        {"title": "T", "workflows": list(workflows), "sync": {"enabled": True, "target": "folder"}, "type": kind, kind: block}
    )


@pytest.mark.parametrize("path", ["a.json", "a (b) & #c/d+e'f,g.yaml", "deep/d.yml", "deep/", ""])
def test_valid_paths_are_accepted(path: str) -> None:
    check_extension(path)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("a.txt", "unsupported file extension"),
        ("a", "unsupported file extension"),
        ("a.JSON", "unsupported file extension"),
        ("README.md", "unsupported file extension"),
        ("/a.json", "not relative"),
        ("a/../b.json", "traversal"),
        (".a/b.json", "hidden"),
        ("a//b.json", "double slashes"),
        ("a%2F..%2Fb.json", "%2F"),
    ],
)
def test_invalid_paths_are_refused(path: str, reason: str) -> None:
    with pytest.raises(BadRequest, match=reason):
        check_extension(path)


@pytest.mark.parametrize(
    ("path", "is_read"), [("deep/README.md", True), ("README.MD", True), ("md", False), ("a.txt", False), ("a.md.x", False)]
)
def test_markdown_files_can_be_read_and_not_written(path: str, is_read: bool) -> None:
    """Markdown files are only read, and the case of their suffix does not matter."""
    with pytest.raises(BadRequest, match="unsupported file extension"):
        check_extension(path)
    if is_read:
        check_extension(path, allow_markdown=True)
        return
    with pytest.raises(BadRequest, match="unsupported file extension"):
        check_extension(path, allow_markdown=True)


@pytest.mark.parametrize(
    ("repository", "ref", "error", "reason"),
    [
        (spec(), "", BadRequest, "read only"),
        (spec(), "other", BadRequest, "read only"),
        (spec("branch"), "", BadRequest, "write workflow"),
        (spec("branch"), "main", BadRequest, "write workflow"),
        (spec("write"), "other", BadRequest, "branch workflow"),
        (spec("branch"), "0" * 40, BadRequest, "a commit cannot be changed"),
        (spec("write", "branch", kind="local"), "other", PreconditionFailed, "on a git host"),
    ],
)
def test_forbidden_refs_are_refused(repository: RepositorySpec, ref: str, error: type[DashwrightError], reason: str) -> None:
    """A write to the synced branch needs the workflow ``write``, and a write to another branch the workflow ``branch``.

    A commit, and a ref of a local directory, cannot be written.
    """
    with pytest.raises(error, match=reason):
        check_write(repository, ref)


@pytest.mark.parametrize(
    ("repository", "ref"),
    [
        (spec("write"), ""),
        (spec("write"), "main"),
        (spec("branch"), "other"),
        (spec("write", "branch"), "x/y"),
        (spec("write", kind="local"), ""),
    ],
)
def test_allowed_refs_are_accepted(repository: RepositorySpec, ref: str) -> None:
    check_write(repository, ref)


def test_the_synced_branch_needs_no_ref() -> None:
    """The ref of the synced branch is empty, and other refs are unchanged."""
    assert effective_ref(spec(), "") == ""
    assert effective_ref(spec(), "main") == ""
    assert effective_ref(spec(), "other") == "other"
    assert effective_ref(spec(), "feature/x") == "feature/x"
    with pytest.raises(BadRequest, match="neither a branch name nor a commit"):
        effective_ref(spec(), "a..b")
    with pytest.raises(BadRequest, match="local repository does not support ref: leave it out"):
        effective_ref(spec(kind="local"), "main")


def test_a_checksum_is_that_of_the_checkout() -> None:
    """The checksum of a file in git is the id of its blob, and that of a file in a local directory is its SHA-1."""
    assert checksum_of(b"hello\n", in_git=True) == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert checksum_of(b"hello\n", in_git=False) == "f572d396fae9206628714fb2ce00f72e94f2258f"


def test_a_directory_exists_while_it_has_entries() -> None:
    """A directory exists while it has entries. The difference of an edit has the directories above each edited file."""
    # The checksum of each file is its number.
    entries = [
        Entry("a/"),
        Entry("a/1.json", "1"),
        Entry("a/b/"),
        Entry("a/b/2.json", "2"),
        Entry("c/"),
        Entry("c/.keep", "3"),
        Entry("c/4.json", "4"),
    ]
    difference_of_deletes = difference_of(entries, [Edit("a/b/2.json", None, "2"), Edit("c/4.json", None, "4")], in_git=True)
    assert difference_of_deletes.paths == {"a/", "a/b/", "a/b/2.json", "c/", "c/4.json"}
    assert {entry.path for entry in difference_of_deletes.entries} == {"a/", "c/"}
    moved = difference_of(
        entries, [Edit("a/1.json", None, "1"), Edit("d/e/1.json", b"{}", None), Edit("a/b/2.json", None, "2")], in_git=True
    )
    assert {entry.path for entry in moved.entries} == {"d/", "d/e/", "d/e/1.json"}
    difference_of_one_file = difference_at("a/b/2.json", "2")
    assert difference_of_one_file.paths == {"a/", "a/b/", "a/b/2.json"}
    assert {entry.path for entry in difference_of_one_file.entries} == {"a/", "a/b/", "a/b/2.json"}
    assert list(files_below(entries, "a/")) == ["a/1.json", "a/b/2.json"]


@pytest.mark.parametrize(
    ("url", "source", "source_at_commit", "compare", "new_pull_request"),
    [
        (
            "https://gitlab.com/a/b/c",
            "/-/blob/x/y/a.json",
            "/-/blob/{}/a.json",
            "/-/compare/main...x/y",
            "/-/merge_requests/new?merge_request[source_branch]=x/y&merge_request[target_branch]=main",
        ),
        (
            "https://codeberg.org/a/b",
            "/src/branch/x/y/a.json",
            "/src/commit/{}/a.json",
            "/compare/main...x/y",
            "/compare/main...x/y",
        ),
        (
            "https://bitbucket.org/a/b",
            "/src/x/y/a.json",
            "/src/{}/a.json",
            "/branches/compare/x/y..main",
            "/pull-requests/new?source=x/y&dest=main",
        ),
    ],
)
def test_links_depend_on_the_kind_of_host(url: str, source: str, source_at_commit: str, compare: str, new_pull_request: str) -> None:
    """The links to a file in the branch ``x/y``, or at a commit, have the form of the kind of host.

    The kind is known from the name of the host.
    """
    own_spec = spec()
    assert own_spec.remote is not None
    own_spec.remote.url = url
    links = urls_of(own_spec, FileView("a.json", ref="x/y", commit="c0"))
    assert links is not None
    assert links.source_url == url + source
    assert links.compare_url == url + compare
    assert links.new_pull_request_url == url + new_pull_request
    commit = "ab" * 20
    links = urls_of(own_spec, FileView("a.json", ref=commit, commit=commit))
    assert links is not None
    assert links.source_url == url + source_at_commit.format(commit)


def test_links_to_bitbucket_data_center_lead_to_its_pages() -> None:
    """Links lead to the pages of the repository, whose address is not that for git. The host may be below a path."""
    for origin in ("https://bitbucket.example.org", "https://bitbucket.example.org/git"):
        own_spec = spec()
        assert own_spec.remote is not None
        own_spec.remote.url = f"{origin}/scm/team/boards"
        links = urls_of(own_spec, FileView("a.json", ref="x/y", commit="c0"))
        assert links is not None
        assert links.source_url == f"{origin}/projects/team/repos/boards/browse/a.json?at=x/y"
        assert links.repository_url == f"{origin}/projects/team/repos/boards"


def test_a_file_is_linked_in_its_branch() -> None:
    """The link to a file leads to its branch. Another branch has links to compare it and to open a pull request."""
    host = "https://git.example.org/team/boards"
    urls_in_own_branch = urls_of(spec(), FileView("a b.json", ref="", commit="c0"))
    assert urls_in_own_branch is not None
    assert urls_in_own_branch.source_url == f"{host}/blob/main/a%20b.json"
    assert urls_in_own_branch.repository_url == host
    assert urls_in_own_branch.compare_url is None
    links_in_other_branch = urls_of(spec(), FileView("a.json", ref="x/y", commit="c0"))
    assert links_in_other_branch is not None
    compare = f"{host}/compare/main...x/y"
    assert links_in_other_branch.source_url == f"{host}/blob/x/y/a.json"
    assert links_in_other_branch.compare_url == compare
    assert links_in_other_branch.new_pull_request_url == f"{compare}?quick_pull=1&labels=grafana"
    links_without_branch = urls_of(spec(branch=""), FileView("a.json", ref="", commit="c0"))
    assert links_without_branch is not None
    assert links_without_branch.source_url == f"{host}/blob/c0/a.json"
    assert urls_of(spec(kind="local"), FileView("a.json", ref="", commit="")) is None
    over_ssh = spec().model_copy(update={"githost": GitHostRepositoryConfig(url="git@git.example.org:team/boards", branch="main")})
    assert urls_of(over_ssh, FileView("a.json", ref="", commit="c0")) is None

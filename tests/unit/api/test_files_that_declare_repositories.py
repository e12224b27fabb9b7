"""Files in ``DASHWRIGHT_PROVISIONING_DIR``: which files are read, what they declare, and how faults are reported."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dashwright.api.repositories.provisioning.directory import DeclaredState, read_declared_state
from dashwright.common.kinds.annotations import MANAGED_BY, MANAGER_ID, SOURCE_PATH
from dashwright.common.kinds.repository import FINALIZERS


def document(name: str = "team", version: str = "v0alpha1", **metadata: Any) -> dict[str, Any]:
    """Return a repository as a file has it. JSON is YAML, too."""
    api_version = f"provisioning.grafana.app/{version}"
    return {"apiVersion": api_version, "kind": "Repository", "metadata": {"name": name, **metadata}, "spec": {"title": name}}


def write_file(path: Path, *documents: Any) -> None:
    """Write a file with YAML documents, and its missing directories."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n---\n".join(json.dumps(document) for document in documents))


def read_declarations(root: Path, **environment: str) -> DeclaredState:
    """Return the declarations and faults of a directory, with these environment variables."""
    return read_declared_state(root, environment)


def faults_of(state: DeclaredState) -> list[tuple[str, str]]:
    """Return the file and the message of each fault."""
    return [(fault.file, fault.message) for fault in state.faults]


def test_files_declare_repositories_in_every_version(tmp_path: Path) -> None:
    """JSON and YAML files, also in directories, declare repositories in each version; a YAML file may have several documents."""
    write_file(tmp_path / "a.yaml", document("a"), None, document("b", "v1", namespace="org-2"))
    write_file(tmp_path / "web" / "c.yml", document("c", "v1beta1"))
    write_file(tmp_path / "d.json", document("d"))
    state = read_declarations(tmp_path)
    declared = [(declaration.file, declaration.namespace, declaration.name, declaration.version) for declaration in state.declarations]
    assert declared == [
        ("a.yaml", "default", "a", "v0alpha1"),
        ("a.yaml", "org-2", "b", "v1"),
        ("d.json", "default", "d", "v0alpha1"),
        ("web/c.yml", "default", "c", "v1beta1"),
    ]
    assert state.is_complete
    assert faults_of(state) == []


@pytest.mark.parametrize("api_version", ["v1", "provisioning.grafana.app/v1beta1"])
def test_a_list_declares_its_items(tmp_path: Path, api_version: str) -> None:
    """The lists that kubectl and the API write declare a repository for each item, and a faulty item is named by its number."""
    kind = "List" if api_version == "v1" else "RepositoryList"
    items = [document("a", "v1beta1"), {"kind": "Dashboard"}, document("b", "v1beta1")]
    # Items of a typed list have the apiVersion of the list.
    if kind == "RepositoryList":
        items = [{member: value for member, value in item.items() if member != "apiVersion"} for item in items]
    write_file(tmp_path / "a.yaml", document("c"), {"apiVersion": api_version, "kind": kind, "metadata": {}, "items": items})
    state = read_declarations(tmp_path)
    assert [(declaration.name, declaration.version) for declaration in state.declarations] == [
        ("c", "v0alpha1"),
        ("a", "v1beta1"),
        ("b", "v1beta1"),
    ]
    ((_, fault),) = faults_of(state)
    assert fault.startswith("document 2: item 2: 'Dashboard'")


def test_hidden_and_other_files_are_not_read(tmp_path: Path) -> None:
    """Hidden files, files in hidden directories, and files with other suffixes declare nothing."""
    for name in (".a.yaml", ".git/b.yaml", "web/.hidden/c.yaml", "readme.md", "d.yaml.bak"):
        write_file(tmp_path / name, document())
    state = read_declarations(tmp_path)
    assert state.declarations == []
    assert faults_of(state) == []


def test_a_config_map_is_read_by_its_symbolic_links(tmp_path: Path) -> None:
    """The files of a Kubernetes volume are read once, under their visible names, and have the new content after a change.

    Kubernetes changes a volume by replacing the link ``..data`` to the hidden directory of the current content.
    """
    for version in ("1", "2"):
        write_file(tmp_path / f"..{version}" / "team.yaml", document(f"team-{version}"))
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "team.yaml").symlink_to("..data/team.yaml")
    assert [(declaration.file, declaration.name) for declaration in read_declarations(tmp_path).declarations] == [("team.yaml", "team-1")]
    (tmp_path / "..new").symlink_to("..2")
    (tmp_path / "..new").replace(tmp_path / "..data")
    assert [(declaration.file, declaration.name) for declaration in read_declarations(tmp_path).declarations] == [("team.yaml", "team-2")]


def test_directories_behind_symbolic_links_are_not_read(tmp_path: Path) -> None:
    """A link to a directory, even to the one that contains the link, is not followed."""
    write_file(tmp_path / "other" / "a.yaml", document("a"))
    root = tmp_path / "root"
    write_file(root / "b.yaml", document("b"))
    (root / "link").symlink_to(tmp_path / "other")
    (root / "loop").symlink_to(root)
    assert [declaration.name for declaration in read_declarations(root).declarations] == ["b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "not valid YAML"),
        ("1: 2", "is not a string"),
        ("- 1", "not an object"),
        (json.dumps(document() | {"kind": "Reposit"}), "'Reposit'"),
        (json.dumps(document(version="v3")), "provisioning.grafana.app/v1"),
        ("apiVersion: 1\ndatasources: []", "is not a Repository"),
        (json.dumps(document("")), "metadata.name is missing"),
        (json.dumps(document(namespace=2)), "metadata.namespace is not text"),
        (json.dumps(document() | {"metadata": None}), "metadata is missing"),
        ('{"apiVersion": "v1", "kind": "List", "items": {}}', "items of the List is not a list"),
    ],
)
def test_a_faulty_file_makes_the_state_incomplete(tmp_path: Path, text: str, message: str) -> None:
    """The fault of a file names the file and the reason, and the other files are read all the same."""
    (tmp_path / "a.yaml").write_text(text)
    write_file(tmp_path / "b.yaml", document("b"))
    state = read_declarations(tmp_path)
    ((file, fault),) = faults_of(state)
    assert file == "a.yaml"
    assert message in fault
    assert not state.is_complete
    assert [declaration.name for declaration in state.declarations] == ["b"]


def test_a_faulty_document_is_named_by_its_number(tmp_path: Path) -> None:
    """The fault of a document has its number, and the other documents of the file still declare repositories."""
    write_file(tmp_path / "a.yaml", document("a"), {"kind": "Dashboard"}, document("c"))
    state = read_declarations(tmp_path)
    ((_, fault),) = faults_of(state)
    assert fault.startswith("document 2: 'Dashboard'")
    assert [declaration.name for declaration in state.declarations] == ["a", "c"]


def test_unreadable_files_are_faults(tmp_path: Path) -> None:
    """Unreadable files are reported, and the other files are read.

    A link without a target, a named pipe, a file over 5 MiB, and content or a name that is not UTF-8 are unreadable.
    """
    (tmp_path / "a.yaml").symlink_to("missing")
    os.mkfifo(tmp_path / "b.yaml")
    (tmp_path / "c.yaml").write_bytes(b"#" * (5 * 1024 * 1024 + 1))
    (tmp_path / "d.json").write_bytes(b'"\xff"')
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/e\xff.yaml")).touch()
    state = read_declarations(tmp_path)
    assert [file for file, _ in faults_of(state)] == ["a.yaml", "b.yaml", "c.yaml", "d.json", "e?.yaml"]
    assert not state.is_complete


@pytest.mark.parametrize("is_file", [True, False], ids=["file", "missing"])
def test_a_missing_directory_is_a_fault(tmp_path: Path, is_file: bool) -> None:
    """Without a directory, the state is incomplete, so that no repository counts as undeclared."""
    if is_file:
        (tmp_path / "root").touch()
    state = read_declarations(tmp_path / "root")
    assert "DASHWRIGHT_PROVISIONING_DIR" in state.faults[0].message
    assert not state.is_complete


def test_the_first_file_declares_a_repository(tmp_path: Path) -> None:
    """A second declaration is refused and names the first file. The same name in another organization is another repository."""
    write_file(tmp_path / "a.yaml", document("team"))
    write_file(tmp_path / "b.yaml", document("team"), document("team", namespace="org-2"))
    state = read_declarations(tmp_path)
    assert [(declaration.file, declaration.namespace) for declaration in state.declarations] == [("a.yaml", "default"), ("b.yaml", "org-2")]
    (fault,) = state.faults
    assert fault.file == "b.yaml"
    assert fault.repository == "team"
    assert "'a.yaml'" in fault.message
    assert state.is_complete


def test_secrets_are_expanded(tmp_path: Path) -> None:
    """``secure.token.create`` has the content of a file or variable, and the rest of the object is not expanded."""
    (tmp_path / "token").write_text("s3cret\n")
    create = f"$__env{{USER_NAME}}:$__file{{{tmp_path}/token}}"
    write_file(tmp_path / "a.yaml", document(labels={"a": "$__env{USER_NAME}"}) | {"secure": {"token": {"create": create}}})
    (declaration,) = read_declarations(tmp_path, USER_NAME="bot").declarations
    assert declaration.tree["secure"] == {"token": {"create": "bot:s3cret"}}
    assert declaration.tree["metadata"]["labels"] == {"a": "$__env{USER_NAME}"}


@pytest.mark.parametrize(
    ("create", "message"),
    [
        ("$__env{ABSENT}", "secure.token.create: the environment variable 'ABSENT' is missing"),
        ("$__env{EMPTY}", "$__env{EMPTY} is empty"),
        ("$__file{/absent/token}", "the file '/absent/token' cannot be read (No such file or directory)"),
        ("$__file{token}", "is not an absolute path"),
        ("$__file{/}", "the file '/' cannot be read"),
        ("$__vault{a}", "$__vault{…} is unknown"),
        ("$__env{ABSENT", "is not closed"),
    ],
)
def test_a_missing_secret_is_a_fault_of_its_repository(tmp_path: Path, create: str, message: str) -> None:
    """The fault of a missing secret names its file or variable. The repository counts as declared, and the state as complete."""
    write_file(tmp_path / "a.yaml", document() | {"secure": {"token": {"create": create}}})
    state = read_declarations(tmp_path, EMPTY=" ")
    (fault,) = state.faults
    assert message in fault.message
    assert list(state.declarations) == []
    assert set(state.keys) == {("default", "team")}
    assert state.is_complete


def test_the_desired_object_names_its_file(tmp_path: Path) -> None:
    """The annotations of the desired object name the file as manager, not the manager in the document.

    Its finalizers are the defaults of new repositories, and it has no uid.
    """
    claims = {MANAGED_BY: "terraform", SOURCE_PATH: "elsewhere", "note": "kept"}
    write_file(tmp_path / "web" / "a.yaml", document(annotations=claims, resourceVersion="7", uid="u"))
    desired = read_declarations(tmp_path).declarations[0].desired_object()
    assert desired.annotations == {
        MANAGED_BY: "classic-file-provisioning",
        MANAGER_ID: "provisioning",
        SOURCE_PATH: "web/a.yaml",
        "note": "kept",
    }
    assert tuple(desired.finalizers) == FINALIZERS
    assert desired.uid == ""


def test_secrets_that_are_not_declared_are_removed(tmp_path: Path) -> None:
    """Secrets that a file does not declare are removed, because a file declares all secrets of its repository."""
    removal = {"remove": True}
    for name in ("token", "sshKey", "signingKey"):
        write_file(tmp_path / "a.yaml", document() | {"secure": {name: {"create": "a secret"}}})
        (declaration,) = read_declarations(tmp_path).declarations
        expected = {"token": removal, "sshKey": removal, "signingKey": removal} | {name: {"create": "a secret"}}
        assert declaration.desired_object().secure == expected


def test_secrets_of_receivers_are_expanded_and_complete(tmp_path: Path) -> None:
    """A receiver of notifications has its declared secret. The secret of a receiver without a declared secret is removed.

    The fault of a missing secret names the receiver.
    """
    declared = document()
    declared["spec"]["notifications"] = [{"name": name, "url": "https://chat.example/"} for name in ("chat", "pager")]
    write_file(tmp_path / "a.yaml", declared | {"secure": {"notifications": {"chat": {"create": "$__env{CHAT}"}}}})
    (declaration,) = read_declarations(tmp_path, CHAT="whsec").declarations
    secure = declaration.desired_object().secure
    assert secure["notifications"] == {"chat": {"create": "whsec"}, "pager": {"remove": True}}
    # Without the environment variable ``CHAT``.
    ((_, fault),) = faults_of(read_declarations(tmp_path))
    assert fault.startswith("secure.notifications.chat.create:")

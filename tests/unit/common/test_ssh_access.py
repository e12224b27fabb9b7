"""Deploy keys, known hosts and SSH addresses: accepted values, and the errors for others."""

from pathlib import Path
from typing import Any

import pytest
from tests.servers.ssh import make_key

from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.git_addresses import GitAddress, parse_git_address
from dashwright.common.kinds.repository import admit_repository, host_of, normalize_url, source_of
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.kinds.ssh_access import check_known_hosts, normalize_private_key

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"


def spec(url: str, **block: Any) -> dict[str, Any]:
    """Return the spec of a repository with a deploy key, and with other members of its block ``git``."""
    sync = {"enabled": True, "target": "folder"}
    return {"title": "T", "type": "git", "workflows": [], "sync": sync, "git": {"url": url, "encryptedSshKey": "c2VhbGVk", **block}}


def causes(url: str, **block: Any) -> list[tuple[str, str]]:
    """Return field and message of each fault."""
    draft = Draft("team", "default", spec(url, **block))
    admit_repository(draft, AdmissionSettings())
    return [(cause.field, cause.message) for cause in draft.causes]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ssh://git@Host.example/team/x", GitAddress("ssh", "host.example", 22, "git", "team/x")),
        ("ssh://git@host.example:2222/~/x", GitAddress("ssh", "host.example", 2222, "git", "~/x")),
        ("ssh://git@[::1]:22/x", GitAddress("ssh", "::1", 22, "git", "x")),
        ("git@ssh.dev.azure.example:v3/org/project/x", GitAddress("ssh", "ssh.dev.azure.example", 22, "git", "v3/org/project/x", True)),
        ("git@[::1]:x", GitAddress("ssh", "::1", 22, "git", "x", True)),
        ("https://Host.example/x", GitAddress("https", "host.example", 443, "", "x")),
        ("http://host.example:8080/x", GitAddress("http", "host.example", 8080, "", "x")),
    ],
)
def test_valid_addresses_have_parts(url: str, expected: GitAddress) -> None:
    """An address is split into scheme, host, port, user and path. The last part is true in the form ``user@host:path``."""
    assert parse_git_address(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "ssh://host.example/x",
        "ssh://-o@host.example/x",
        "ssh://git:password@host.example/x",
        "ssh://git@host.example:0/x",
        "ssh://git@host.example:x/x",
        "ssh://git@-oProxyCommand=id/x",
        "-oProxyCommand@host:x",
        "git@-oProxyCommand=id:x",
        "git@ho st:x",
        "git@host/x",
        "git://host/x",
        "file:///x",
        "ext::sh -c id",
        "git@host:x\ny",
        "ssh://git@host/x\ny",
        "/srv/x",
        "",
    ],
)
def test_invalid_addresses_have_no_parts(url: str) -> None:
    """An address is invalid if it is incomplete, or if a program could take it for an option or for another transport."""
    assert parse_git_address(url) is None


def test_an_ssh_address_is_admitted() -> None:
    """SSH addresses of both forms are admitted, with or without known hosts. They are normalized without ``.git``."""
    assert causes("ssh://git@host.example:2222/team/x.git", knownHosts=f"# a comment\n\nhost.example {HOST_KEY} comment\n") == []
    assert causes("git@host.example:team/x.git") == []
    assert normalize_url("git@host.example:team/x.git") == "git@host.example:team/x"


@pytest.mark.parametrize(
    ("url", "field", "message"),
    [
        ("ssh://host.example/x", "spec.git.url", "ssh://user@host[:port]/path or user@host:path"),
        ("ssh://git:s3cret@host.example/x", "spec.git.url", "ssh://user@host[:port]/path or user@host:path"),
        ("ssh://git@host.example", "spec.git.url", "the path of the repository is missing"),
        ("git@host.example:", "spec.git.url", "the path of the repository is missing"),
        ("git@host.example:a b", "spec.git.url", "ssh://user@host[:port]/path or user@host:path"),
    ],
)
def test_a_wrong_ssh_address_is_named(url: str, field: str, message: str) -> None:
    """The error of a wrong SSH address has the form to use, and no password."""
    ((actual_field, text),) = causes(url)
    assert actual_field == field
    assert message in text
    assert "s3cret" not in text


def test_an_ssh_address_needs_a_key() -> None:
    """A repository with an SSH address and without a key is refused, and the error names the member to send."""
    ((field, message),) = causes("git@host.example:x", encryptedSshKey=None)
    assert field == "secure.sshKey"
    assert "secure.sshKey.create" in message


def test_only_an_ssh_address_has_known_hosts() -> None:
    """Known hosts of an address that is not reached by SSH are a fault."""
    assert [field for field, _ in causes("https://host.example/x", knownHosts=f"host.example {HOST_KEY}")] == ["spec.git.knownHosts"]


def test_two_forms_of_an_address_are_one_source() -> None:
    """Both forms of an SSH address are the same source, with the same search string. Another port is another source."""
    source = source_of(spec("ssh://git@host.example/team/x"), ())
    source_of_other_form = source_of(spec("git@HOST.example:team/x.git"), ())
    source_at_other_port = source_of(spec("ssh://git@host.example:2222/team/x"), ())
    assert source is not None
    assert source_of_other_form is not None
    assert source_at_other_port is not None
    assert source.overlaps(source_of_other_form)
    assert source.search_string == "team/x"
    assert source_of_other_form.search_string == "team/x"
    assert not source.overlaps(source_at_other_port)


def test_a_key_belongs_to_user_host_and_port() -> None:
    """The host to which a key belongs has the scheme, user, name and port of an address, but not its path or form."""
    host = "ssh://git@host.example:22"
    assert host_of("git@host.example:x") == host
    assert host_of("ssh://git@host.example/y") == host
    assert host_of("ssh://git@host.example/x") == host
    assert host_of("ssh://other@host.example/x") != host
    assert host_of("https://host.example/x") != host


@pytest.mark.parametrize(("kind", "options"), [("ed25519", ()), ("ecdsa", ()), ("rsa", ("-b", "2048"))])
def test_a_key_of_openssh_is_accepted(tmp_path: Path, kind: str, options: tuple[str, ...]) -> None:
    """Line ends of Windows and a missing last line end are corrected, because ssh refuses such keys."""
    make_key(tmp_path / "key", kind, "", *options)
    key = (tmp_path / "key").read_text()
    for sent in (key, key.strip(), key.replace("\n", "\r\n"), f"\n  {key}\n"):
        assert normalize_private_key(sent) == key


@pytest.mark.parametrize(
    ("kind", "passphrase", "options", "message"),
    [
        ("ed25519", "secret words", (), "ssh-keygen -p -N '' -f FILE"),
        ("rsa", "", ("-b", "1024"), "has 1024 bits, and at least 2048 are needed"),
        ("ecdsa", "", ("-m", "PEM"), "not a private key in OpenSSH form"),
    ],
)
def test_an_unusable_key_is_refused(tmp_path: Path, kind: str, passphrase: str, options: tuple[str, ...], message: str) -> None:
    """The error of an unusable key says what to do, and does not repeat the key."""
    make_key(tmp_path / "key", kind, passphrase, *options)
    key = (tmp_path / "key").read_text()
    with pytest.raises(ValueError, match="key") as raised:
        normalize_private_key(key)
    assert message in str(raised.value)
    assert key.splitlines()[1] not in str(raised.value)


def test_an_invalid_key_is_refused(tmp_path: Path) -> None:
    """A public key, a truncated key and any other text are refused."""
    make_key(tmp_path / "key")
    lines = (tmp_path / "key").read_text().splitlines()
    truncated = "\n".join([*lines[:2], lines[-1]])
    for text in ("", "x" * 100_000, (tmp_path / "key.pub").read_text(), truncated, "\n".join(lines[:3])):
        with pytest.raises(ValueError, match="private key"):
            normalize_private_key(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("host.example", "line 1 is not a host"),
        (f"# a comment\nhost.example {HOST_KEY}\n{HOST_KEY}", "line 3 is not a host"),
        ("host.example ssh-ed25519 AAAA", "line 1 is not a host"),
        ("@revoked host.example", "line 1 is not a host"),
        ("#" * 70_000, "it has 70000 characters, and at most 65536 are allowed"),
    ],
)
def test_faulty_known_hosts_are_refused(text: str, message: str) -> None:
    """The error of faulty known hosts names the line."""
    with pytest.raises(ValueError, match=message):
        check_known_hosts(text)
    ((field, _),) = causes("git@host.example:x", knownHosts=text)
    assert field == "spec.git.knownHosts"


def test_known_hosts_may_be_hashed_and_marked() -> None:
    """Hashed names, authorities and revoked keys are forms that ssh reads."""
    check_known_hosts(f"|1|abc=|def= {HOST_KEY}\n@cert-authority *.example {HOST_KEY}\n@revoked * {HOST_KEY}\n")

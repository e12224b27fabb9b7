"""The choice of kubectl, and the verification of one from Debian's archive."""

import pytest
from tests.clients.dependency_missing import DependencyMissing
from tests.clients.kubernetes import debian, kubectl

#: A signed list of Debian with the hashes of its indexes. The index has another kind of hash, too.
RELEASE = """Codename: trixie
MD5Sum:
 0123456789abcdef0123456789abcdef 9678380 main/binary-amd64/Packages.xz
SHA256:
 {}  100 main/binary-amd64/Packages.gz
 {}  9678380 main/binary-amd64/Packages.xz
""".format("a" * 64, "b" * 64)

#: An index of packages, with a similar name and with a description that looks like a file.
PACKAGES = """Package: kubectl-extras
Filename: pool/other.deb
SHA256: 1

Package: kubectl
Description: a tool
 Filename: not this
Filename: pool/main/k/kubectl_1.32.3_amd64.deb
SHA256: 2
"""


@pytest.mark.parametrize(
    ("text", "is_accepted"),
    [
        ("1.32.3+ds-2", True),
        ("1.40.0", True),
        # The version of Debian 12, and a version of Google's package.
        ("1.20.5+really1.20.2-1.1+deb12u1", False),
        ("1:528.0.0-0", False),
        ("", False),
        ("nonsense", False),
    ],
)
def test_versions_from_1_32_on_are_accepted(text: str, is_accepted: bool) -> None:
    """Versions from 1.32 on are accepted; packages with another version scheme, such as Google's, are not."""
    assert (kubectl._version(text) >= kubectl.OLDEST) is is_accepted


def test_the_hash_of_an_index_is_that_of_the_signed_list() -> None:
    """The hash is the SHA-256 of exactly that file in the signed list."""
    assert debian._hash_in_release(RELEASE, "main/binary-amd64/Packages.xz") == "b" * 64
    with pytest.raises(DependencyMissing):
        debian._hash_in_release(RELEASE, "main/binary-riscv64/Packages.xz")


def test_a_package_is_found_by_its_exact_name() -> None:
    """A package is found with its file and its hash, without lines of a description."""
    assert debian._entry(PACKAGES, "kubectl") == ("pool/main/k/kubectl_1.32.3_amd64.deb", "2")
    with pytest.raises(DependencyMissing):
        debian._entry(PACKAGES, "kube")

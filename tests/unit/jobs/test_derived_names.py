"""Names derived from paths: existing clients have them in links, so they are fixed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.jobs.names import folder_name, job_name, name_with_hash, object_name, sanitise


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a-b.123.-c", "a-b.123.-c"),
        ("abc-", "abc"),
        ("abc.", "abc"),
        ("-abc", "abc"),
        (".abc", "abc"),
        ("ab--c", "ab-c"),
        ("ab_c", "ab-c"),
        ("ab/c", "ab-c"),
        ("CPU Usage", "cpuusage"),
    ],
)
def test_a_path_is_reduced_to_valid_characters(text: str, name: str) -> None:
    """Lowercase letters, digits, single hyphens and dots are kept; both ends are letters or digits."""
    assert sanitise(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [("test" * 200, "testtesttesttesttesttesttesttes-8dogmh7b"), ("test" * 7, "testtesttesttesttesttesttest-icauzj-i5j5")],
)
def test_hash_keeps_eight_characters_at_least(text: str, name: str) -> None:
    """A name has at most 40 characters, of which at least eight are the hash. A short text leaves more characters for the hash."""
    assert name_with_hash("repository", "key", text) == name


@pytest.mark.parametrize(
    ("repository", "directory", "name"),
    [
        ("unit-test", "hello/world", "world-wik-hjayboohlsvzzr2ob3he8cs7ffk0jd"),
        ("unit-test", "hello/world/", "world-wik-hjayboohlsvzzr2ob3he8cs7ffk0jd"),
        ("unit-test", "/hello/world" * 200, "world-bc9jpbg6ctg-w-pexkul-f1ic-bwer5-3r"),
        ("team-repo", "dashboards/prod/eu", "eu-nsnv8b-uv4xnqtlplga9jtncn6f4z0bwxahxf"),
        ("team-repo", "Platform Team", "platformteam-vk53zjmo6qhfgcardpgf9ykejpj"),
        ("team-repo", "a_b", "a-b-puxpkqkeneapbq5bsbqb1febnuzubydenp0"),
    ],
)
def test_directory_gives_its_folder_name(repository: str, directory: str, name: str) -> None:
    """The name of a folder depends only on the repository and the directory, so that it is the same in every installation."""
    assert folder_name(repository, directory) == name


@pytest.mark.parametrize(
    ("repository", "path", "name"),
    [
        ("xyz", "path/to/folder.json", "folder-6bzzhwqcdz2sjle909fuu1bxzqlhrqlgc"),
        ("xyz", "path/to/folder", "folder-6bzzhwqcdz2sjle909fuu1bxzqlhrqlgc"),
        ("team-repo", "cpu.json", "cpu-2tjtmm1zk-jxbfgxaputdeekdtofswwb2ocs"),
        ("team-repo", "dashboards/cpu.yaml", "cpu-snuu4cydlqhiuni-vax7xb7xl1zz9-av3cbt"),
        ("team-repo", "dashboards/CPU Usage.json", "cpuusage-jjrse-0dchqor60axbypgbbgpqtmpm"),
    ],
)
def test_file_gives_its_object_name(repository: str, path: str, name: str) -> None:
    """A file without a name is named by its path without the suffix."""
    assert object_name(repository, path) == name


@given(st.text(max_size=60), st.text(max_size=60))
def test_derived_names_are_always_valid(repository: str, path: str) -> None:
    """The name for any path obeys the rules of dashboards and folders."""
    for name in (folder_name(repository, path), object_name(repository, path)):
        assert re.fullmatch(r"[a-z0-9_-]{1,40}", name)


@given(st.from_regex(r"[a-z][a-z0-9.-]{0,80}[a-z0-9]", fullmatch=True), st.sampled_from(["sync", "export", "pr"]))
def test_job_names_are_valid_and_end_in_action_and_suffix(repository: str, action: str) -> None:
    """A name is ``{repository}-{action}-{suffix}``, a valid Kubernetes name of at most 63 characters."""
    name = job_name(repository, action, "k3x9a2p0")
    assert len(name) <= 63
    assert re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", name)
    assert name.endswith(f"-{action}-k3x9a2p0")
    assert repository.startswith(name.removesuffix(f"-{action}-k3x9a2p0"))

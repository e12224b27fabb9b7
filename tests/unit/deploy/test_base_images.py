"""Base images are pinned by the digest that the registry has for their tag."""

import pytest
from deploy import images

OLD_DIGEST, NEW_DIGEST = f"sha256:{'0' * 64}", f"sha256:{'a' * 64}"


@pytest.mark.parametrize(
    ("line", "pinned"),
    [
        ("FROM python:3.13-slim AS build", f"FROM python:3.13-slim@{NEW_DIGEST} AS build"),
        ("FROM python:3.13-slim", f"FROM python:3.13-slim@{NEW_DIGEST}"),
        (f"FROM python:3.13-slim@{OLD_DIGEST} AS build", f"FROM python:3.13-slim@{NEW_DIGEST} AS build"),
        ("    image: postgres:17", f"    image: postgres:17@{NEW_DIGEST}"),
        (f"    image: ghcr.io/one/two:1.0@{OLD_DIGEST}", f"    image: ghcr.io/one/two:1.0@{NEW_DIGEST}"),
        ("FROM build", "FROM build"),
        ("# FROM python:3.13-slim", "# FROM python:3.13-slim"),
        ("RUN echo FROM python:3.13-slim", "RUN echo FROM python:3.13-slim"),
        ("    build: {context: .}", "    build: {context: .}"),
    ],
)
def test_an_image_is_pinned_after_its_tag(line: str, pinned: str) -> None:
    """The digest of an image follows its tag and replaces an earlier digest. Other text is unchanged."""
    assert images.pinned(f"a\n{line}\nb\n", lambda *_: NEW_DIGEST) == f"a\n{pinned}\nb\n"


def test_every_file_with_a_base_image_is_found() -> None:
    """The compose file and each Dockerfile refer to at least one image."""
    for file in images.files():
        requested: list[tuple[str, str]] = []

        def record(repository: str, tag: str, requested: list[tuple[str, str]] = requested) -> str:
            requested.append((repository, tag))
            return NEW_DIGEST

        images.pinned(file.read_text(encoding="utf-8"), record)
        assert requested, file


def test_nothing_is_changed_if_the_registry_is_unavailable(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """If one digest is unavailable, no image is pinned."""

    def refuse(repository: str, tag: str) -> str:
        raise images.NoDigest(f"no answer for {repository}:{tag}")

    before = {file: file.read_bytes() for file in images.files()}
    monkeypatch.setattr(images, "digest_in_registry", refuse)
    assert images.main() == 1
    assert {file: file.read_bytes() for file in images.files()} == before
    assert "Nothing was changed" in capsys.readouterr().err

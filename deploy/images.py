"""Base images by digest: ``python -m deploy.images`` requests the current digest of each tag from the registry and writes it after the tag.

A digest names the image for every platform. A build then takes the same image until this is run again.
"""

import re
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from json import load
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
_IMAGE: Final = re.compile(
    r"^(FROM |\s*image: )([a-z0-9][a-z0-9._/-]*):([A-Za-z0-9_][A-Za-z0-9._-]*)(@sha256:[0-9a-f]{64})?(?=\s|$)", re.MULTILINE
)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_TYPES: Final = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json"
_SECONDS: Final = 30


class NoDigest(Exception):
    """The registry cannot be reached, or has no such multi-platform image."""


def files() -> Iterator[Path]:
    """Yield the files that refer to base images."""
    yield ROOT / "docker-compose.yml"
    yield from sorted(ROOT.glob("services/*/Dockerfile"))


def pinned(text: str, digest_of: Callable[[str, str], str]) -> str:
    """Return the text with the digest of each image behind its tag; ``digest_of`` takes repository and tag."""
    return _IMAGE.sub(lambda found: f"{found[1]}{found[2]}:{found[3]}@{digest_of(found[2], found[3])}", text)


def digest_in_registry(repository: str, tag: str) -> str:
    """Return the digest of an image of Docker Hub. Raises NoDigest."""
    name = repository if "/" in repository else f"library/{repository}"
    try:
        token = f"https://auth.docker.io/token?service=registry.docker.io&scope=repository:{name}:pull"
        with urllib.request.urlopen(token, timeout=_SECONDS) as answer:
            headers = {"Authorization": f"Bearer {load(answer)['token']}", "Accept": _TYPES}
        address = f"https://registry-1.docker.io/v2/{name}/manifests/{tag}"
        request = urllib.request.Request(address, headers=headers, method="HEAD")
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
            digest = answer.headers.get("Docker-Content-Digest", "")
    except (OSError, urllib.error.URLError, ValueError, KeyError) as error:
        raise NoDigest(f"The registry could not be asked for {repository}:{tag}: {error}") from error
    if not _DIGEST.fullmatch(digest):
        raise NoDigest(f"The registry gave no digest for {repository}:{tag}")
    return str(digest)


def main() -> int:
    """Pin every image, or none; return the exit status."""
    known: dict[tuple[str, str], str] = {}

    def digest_of(repository: str, tag: str) -> str:
        if (repository, tag) not in known:
            known[repository, tag] = digest_in_registry(repository, tag)
        return known[repository, tag]

    try:
        texts = {file: pinned(file.read_text(encoding="utf-8"), digest_of) for file in files()}
    except NoDigest as error:
        print(f"make images: {error}. Nothing was changed.", file=sys.stderr)
        return 1
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8")
    for (repository, tag), digest in sorted(known.items()):
        print(f"{repository}:{tag}@{digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

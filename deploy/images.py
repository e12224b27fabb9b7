"""Pins base images: ``python -m deploy.images`` writes the current digest of each tag, from the registry, after the tag.

The digest is that of the image for all platforms. Builds use the same image until the command is run again.
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
#: An image in a Dockerfile or compose file: what precedes it, its repository, its tag, and its digest if it has one.
_IMAGE: Final = re.compile(
    r"^(FROM |\s*image: )([a-z0-9][a-z0-9._/-]*):([A-Za-z0-9_][A-Za-z0-9._-]*)(@sha256:[0-9a-f]{64})?(?=\s|$)", re.MULTILINE
)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
#: The media types of multi-platform images.
_MEDIA_TYPES: Final = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json"
_TIMEOUT_SECONDS: Final = 30


class NoDigest(Exception):
    """Error of a registry that cannot be reached, or that has no such multi-platform image."""


def files() -> Iterator[Path]:
    """Yield the files that refer to base images."""
    yield ROOT / "docker-compose.yml"
    yield from sorted(ROOT.glob("services/*/Dockerfile"))


def pinned(text: str, digest_of: Callable[[str, str], str]) -> str:
    """Return the text with the digest of each image after its tag. ``digest_of`` returns the digest for a repository and a tag."""
    return _IMAGE.sub(lambda match: f"{match[1]}{match[2]}:{match[3]}@{digest_of(match[2], match[3])}", text)


def digest_in_registry(repository: str, tag: str) -> str:
    """Return the digest of an image of Docker Hub. Raises NoDigest."""
    name = repository if "/" in repository else f"library/{repository}"
    try:
        token_url = f"https://auth.docker.io/token?service=registry.docker.io&scope=repository:{name}:pull"
        with urllib.request.urlopen(token_url, timeout=_TIMEOUT_SECONDS) as response:
            headers = {"Authorization": f"Bearer {load(response)['token']}", "Accept": _MEDIA_TYPES}
        manifest_url = f"https://registry-1.docker.io/v2/{name}/manifests/{tag}"
        request = urllib.request.Request(manifest_url, headers=headers, method="HEAD")
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:  # noqa: S310
            digest = response.headers.get("Docker-Content-Digest", "")
    except (OSError, urllib.error.URLError, ValueError, KeyError) as error:
        raise NoDigest(f"could not request the digest of {repository}:{tag}: {error}") from error
    if not _DIGEST.fullmatch(digest):
        raise NoDigest(f"the registry returned no digest of {repository}:{tag}")
    return str(digest)


def main() -> int:
    """Pin all images, or none if a digest is missing; return the exit status."""
    digests: dict[tuple[str, str], str] = {}

    def digest_of(repository: str, tag: str) -> str:
        if (repository, tag) not in digests:
            digests[repository, tag] = digest_in_registry(repository, tag)
        return digests[repository, tag]

    try:
        texts = {file: pinned(file.read_text(encoding="utf-8"), digest_of) for file in files()}
    except NoDigest as error:
        print(f"make images: {error}. Nothing was changed.", file=sys.stderr)
        return 1
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8")
    for (repository, tag), digest in sorted(digests.items()):
        print(f"{repository}:{tag}@{digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

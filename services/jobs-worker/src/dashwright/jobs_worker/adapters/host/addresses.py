"""Where the API of a git host is, and who asks there."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from dashwright.common.errors import BadRequest
from dashwright.common.kinds.repository import token_place
from dashwright.common.models.provisioning import GitHostRepositoryConfig
from dashwright.common.secrets import SecretBox
from dashwright.jobs_worker.domain.objects import Repository

SETTING: Final = "DASHWRIGHT_GIT_HOST_APIS"

_KNOWN: Final[Mapping[str, str]] = {"github.com": "https://api.github.com"}
_USUAL_PATH: Final = "api/v3"
_PARTS: Final = 2


@dataclass(frozen=True, slots=True)
class Api:
    """The API as one repository's token sees it. ``address`` has no slash at the end, ``repository`` is ``repos/owner/name``.

    ``namespace`` is that of the organization which asks.
    """

    address: str
    repository: str
    token: str = field(repr=False)
    namespace: str = ""

    @property
    def authorization(self) -> str:
        """Empty where nobody asks by name."""
        if ":" in self.token:
            return f"Basic {base64.b64encode(self.token.encode()).decode()}"
        return f"Bearer {self.token}" if self.token else ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be told, whatever the host repeats."""
        sent = self.authorization.partition(" ")[2]
        return tuple(secret for secret in (sent, self.token, self.token.partition(":")[2]) if secret)


def api_of(url: str, token: str, apis: Mapping[str, str], namespace: str = "") -> Api:
    """``apis`` are the addresses of hosts (``name`` or ``name:port``) that are not where one would look; empty of one that has none.

    Raises BadRequest where the host has none, or the repository no owner and name.
    """
    parts = urlsplit(url.rstrip("/").removesuffix(".git"))
    host = parts.netloc.lower()
    address = {**_KNOWN, **apis}.get(host, f"{parts.scheme}://{host}/{_USUAL_PATH}")
    if not address:
        raise BadRequest(f"the git host {host} has no API by {SETTING}: there are no pull requests and hooks of it")
    names = [unquote(name) for name in parts.path.strip("/").split("/")]
    if len(names) != _PARTS or not all(names):
        raise BadRequest(f"pull requests and hooks need a repository at https://{host}/owner/name, which this url is not")
    return Api(address, "repos/" + "/".join(quote(name, safe="") for name in names), token, namespace)


def token_of(repository: Repository, githost: GitHostRepositoryConfig, box: SecretBox) -> str:
    """Empty where there is none. Raises SecretUnreadable for one that was sealed with another key."""
    sealed = githost.encrypted_token
    return box.open(base64.b64decode(sealed), token_place(repository.namespace, repository.name)) if sealed else ""

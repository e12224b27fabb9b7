"""The address of a git host's API, and the credentials for it."""

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
    """The REST API of a git host for one repository, with the token to call it."""

    #: Without a slash at the end.
    address: str
    #: ``repos/owner/name``.
    repository: str
    token: str = field(repr=False)
    #: Namespace of the organization that the requests count for.
    namespace: str = ""

    @property
    def authorization(self) -> str:
        """The value of the Authorization header; empty without a token."""
        if ":" in self.token:
            return f"Basic {base64.b64encode(self.token.encode()).decode()}"
        return f"Bearer {self.token}" if self.token else ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secrets to hide in messages, even if the host echoes them."""
        sent = self.authorization.partition(" ")[2]
        return tuple(secret for secret in (sent, self.token, self.token.partition(":")[2]) if secret)


def api_of(url: str, token: str, apis: Mapping[str, str], namespace: str = "") -> Api:
    """Return the API of a repository.

    ``apis`` maps a host (``name`` or ``name:port``) to the address of its API; an empty address means that the host has no API.
    A host that is not in it has the API path of a GitHub Enterprise Server.

    Raises BadRequest if the host has no API, or the url has no owner and name.
    """
    parts = urlsplit(url.rstrip("/").removesuffix(".git"))
    host = parts.netloc.lower()
    address = {**_KNOWN, **apis}.get(host, f"{parts.scheme}://{host}/{_USUAL_PATH}")
    if not address:
        raise BadRequest(f"the git host {host} has no API according to {SETTING}: pull requests and webhooks are not available")
    names = [unquote(name) for name in parts.path.strip("/").split("/")]
    if len(names) != _PARTS or not all(names):
        raise BadRequest(f"pull requests and webhooks need a url of the form https://{host}/owner/name")
    return Api(address, "repos/" + "/".join(quote(name, safe="") for name in names), token, namespace)


def token_of(repository: Repository, githost: GitHostRepositoryConfig, box: SecretBox) -> str:
    """Return the token of a repository; empty if it has none. Raises SecretUnreadable if it was encrypted under another key."""
    sealed = githost.encrypted_token
    return box.open(base64.b64decode(sealed), token_place(repository.namespace, repository.name)) if sealed else ""

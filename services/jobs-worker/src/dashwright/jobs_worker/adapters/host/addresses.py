"""The address of a git host's API, and the credentials for it."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from dashwright.common.errors import BadRequest
from dashwright.common.kinds.repository import token_owner
from dashwright.common.models.provisioning import GitHostRepositoryConfig
from dashwright.common.secrets import SecretCipher
from dashwright.jobs_worker.domain.objects import Repository

APIS_SETTING: Final = "DASHWRIGHT_GIT_HOST_APIS"
"""Setting with the addresses of APIs, which errors name."""

_KNOWN_APIS: Final[Mapping[str, str]] = {"github.com": "https://api.github.com"}
_ENTERPRISE_PATH: Final = "api/v3"
_NAMES_IN_PATH: Final = 2
"""The path of a repository consists of the names of its owner and of itself."""


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
        credentials = self.authorization.partition(" ")[2]
        return tuple(secret for secret in (credentials, self.token, self.token.partition(":")[2]) if secret)


def api_of(url: str, token: str, apis: Mapping[str, str], namespace: str = "") -> Api:
    """Return the API of a repository.

    ``apis`` maps a host (``name`` or ``name:port``) to the address of its API; an empty address means that the host has no API.
    A host that ``apis`` does not contain has the API path of a GitHub Enterprise Server.

    Raises BadRequest if the host has no API, or the url has no owner and name.
    """
    parts = urlsplit(url.rstrip("/").removesuffix(".git"))
    host = parts.netloc.lower()
    address = {**_KNOWN_APIS, **apis}.get(host, f"{parts.scheme}://{host}/{_ENTERPRISE_PATH}")
    if not address:
        raise BadRequest(f"the git host {host} has no API according to {APIS_SETTING}: pull requests and webhooks are not available")
    names = [unquote(name) for name in parts.path.strip("/").split("/")]
    if len(names) != _NAMES_IN_PATH or not all(names):
        raise BadRequest(f"pull requests and webhooks need a url of the form https://{host}/owner/name")
    return Api(address, "repos/" + "/".join(quote(name, safe="") for name in names), token, namespace)


def token_of(repository: Repository, githost: GitHostRepositoryConfig, cipher: SecretCipher) -> str:
    """Return the token of a repository; empty if it has none. Raises SecretUnreadable if it was encrypted under another key."""
    ciphertext = githost.encrypted_token
    return cipher.decrypt(base64.b64decode(ciphertext), token_owner(repository.namespace, repository.name)) if ciphertext else ""

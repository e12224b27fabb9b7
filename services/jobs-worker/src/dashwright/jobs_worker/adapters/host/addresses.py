"""The address of a git host's API, and the credentials for it."""

import base64
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from yarl import URL

from dashwright.common.errors import BadRequest
from dashwright.common.git_hosts.description import Host
from dashwright.common.git_hosts.registry import page_of, usual_address
from dashwright.common.kinds.repository import token_owner
from dashwright.common.models.provisioning import GitHostRepositoryConfig
from dashwright.common.secrets import SecretCipher
from dashwright.jobs_worker.domain.objects import Repository

APIS_SETTING: Final = "DASHWRIGHT_GIT_HOST_APIS"
"""Setting with the addresses of APIs. Error messages name this setting."""

_MIN_NAMES: Final = 2
"""The path of a repository consists at least of the names of its owner and of itself."""


@dataclass(frozen=True, slots=True)
class Api:
    """The REST API of a git host for one repository, with the token to call it."""

    host: Host
    #: Without a slash at the end.
    address: str
    #: Path of the repository below the address, such as ``repos/owner/name``.
    repository: str
    #: Address of the repository's page.
    page: str
    token: str = field(repr=False)
    #: Namespace of the organization whose limit of requests to hosts applies.
    namespace: str = ""

    @property
    def root(self) -> str:
        """The address of the repository, which all requests begin with."""
        return f"{self.address}/{self.repository}"

    @property
    def authorization(self) -> str:
        """The value of the Authorization header; empty without a token."""
        api, (user, separator, password) = self.host.rest_api, self.token.partition(":")
        # A token may be ``user:password``. If the host accepts no passwords, or the user is a name for tokens, the password is a token.
        if separator and api.accepts_passwords and user not in api.token_users:
            return f"Basic {base64.b64encode(self.token.encode()).decode()}"
        token = password if separator else self.token
        return f"{api.scheme} {token}" if token else ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secrets to hide in messages, even if the host echoes them."""
        credentials = self.authorization.partition(" ")[2]
        return tuple(secret for secret in (credentials, self.token, self.token.partition(":")[2]) if secret)

    def inner_url(self, link: str) -> URL | None:
        """Return the URL of a link, which may be relative to the root; None if it leaves the repository."""
        root = URL(self.root, encoded=True)
        try:
            url = root.join(URL(link))
            is_inside = url.origin() == root.origin() and url.raw_path.startswith(f"{root.raw_path}/")
        except ValueError:
            return None
        return url if link and is_inside else None


def api_at(host: Host, address: str, url: str, token: str, namespace: str = "") -> Api:
    """Return the API of a repository. An empty ``address`` is the usual one of this kind of host.

    Raises BadRequest if the host has no API, or the url does not name a repository.
    """
    parts = urlsplit(url.rstrip("/").removesuffix(".git"))
    address = address or usual_address(host, parts)
    if not address:
        raise BadRequest(
            f"pull requests and webhooks are available for {host.title}, but not for the API of {parts.netloc.lower()}; "
            f"if that is another kind of host, an operator can name it in {APIS_SETTING}"
        )
    # If a host serves its API below a path, its repositories are below this path, too.
    is_api_on_same_host = urlsplit(address).netloc.lower() == parts.netloc.lower()
    prefix = urlsplit(address.removesuffix(host.rest_api.version)).path if is_api_on_same_host else ""
    beginning = f"{host.rest_api.git_path}/" if host.rest_api.git_path else ""
    git_path = parts.path.removeprefix(f"{prefix}/").strip("/")
    names = [unquote(name) for name in git_path.removeprefix(beginning).split("/")]
    is_valid = len(names) == _MIN_NAMES or (len(names) > _MIN_NAMES and host.rest_api.is_nested)
    if not is_valid or not all(names) or not git_path.startswith(beginning):
        form = "owner[/group…]/name" if host.rest_api.is_nested else f"{beginning}owner/name"
        raise BadRequest(f"pull requests and webhooks need a url of the form https://{parts.netloc.lower()}/{form}")
    quoted_names = [quote(name, safe="~") for name in names]
    # APIs name a repository by a path, or by the same names as one segment, with quoted slashes.
    path, segment = "/".join(quoted_names), quote("/".join(names), safe="")
    repository = host.rest_api.repository.format(path=path, segment=segment, owner=quoted_names[0], name=quoted_names[-1])
    return Api(host, address, repository, page_of(host, url), token, namespace)


def token_of(repository: Repository, githost: GitHostRepositoryConfig, cipher: SecretCipher) -> str:
    """Return the token of a repository; empty if it has none. Raises SecretUnreadable if it was encrypted under another key."""
    ciphertext = githost.encrypted_token
    return cipher.decrypt(base64.b64decode(ciphertext), token_owner(repository.namespace, repository.name)) if ciphertext else ""

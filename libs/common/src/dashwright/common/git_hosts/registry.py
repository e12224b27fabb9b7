"""The kinds of git hosts, and the recognition of one by a setting, a type of repository, a host name or headers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult

from dashwright.common.git_hosts.bitbucket import BITBUCKET
from dashwright.common.git_hosts.bitbucket_server import BITBUCKET_SERVER
from dashwright.common.git_hosts.description import Host
from dashwright.common.git_hosts.gitea import GITEA
from dashwright.common.git_hosts.github import GITHUB
from dashwright.common.git_hosts.gitlab import GITLAB

#: All kinds of hosts. GitHub comes last, because deliveries of other hosts also have its headers. Bitbucket Cloud precedes Bitbucket
#: Data Center, because proxies set the id header of the latter, too.
HOSTS: Final = (GITLAB, GITEA, BITBUCKET, BITBUCKET_SERVER, GITHUB)

#: Separator of the name of a kind and an address in a setting.
_SEPARATOR: Final = "+"
#: Maximum number of characters of an invalid setting in an error message.
_MAX_EXCERPT_LENGTH: Final = 80


@dataclass(frozen=True, slots=True)
class HostChoice:
    """A kind of host and the address of its API, if a setting or a known name determines them."""

    host: Host | None
    #: Empty for the usual address of the kind.
    address: str = ""


def parse_choice(value: str) -> HostChoice:
    """Return the choice of a setting: the name of a kind, the address of an API, or both as ``gitlab+https://…``.

    An address without a name is recognized by its end. Raises ValueError for an unknown name.
    """
    name, separator, address = value.partition(_SEPARATOR)
    if "://" in name:
        address = value
        return HostChoice(next((host for host in HOSTS if address.rstrip("/").endswith(host.rest_api.version)), None), address)
    by_name = {host.name: host for host in HOSTS}
    # ``gitlab+`` without an address is a mistake.
    if name not in by_name or (separator and not address):
        raise ValueError(f"{value[:_MAX_EXCERPT_LENGTH]!r} is neither an address nor one of {', '.join(sorted(by_name))}")
    return HostChoice(by_name[name], address)


def known_host(repository_type: str, netloc: str) -> Host | None:
    """Return the kind of a host by the type of a repository on it, or else by its name (``name`` or ``name:port``).

    A kind whose API has no ``path`` exists only at its public addresses.
    """
    name = netloc.lower().partition(":")[0]
    for host in HOSTS:
        if repository_type in host.repository_types and (host.rest_api.path or name in host.rest_api.addresses):
            return host
    for host in HOSTS:
        if name in host.rest_api.addresses or name.startswith(host.rest_api.name_prefixes):
            return host
    return None


def usual_address(host: Host, parts: SplitResult) -> str:
    """Return the usual address of the API for a host with this URL, or an empty string if only other, public hosts have this API."""
    netloc = parts.netloc.lower()
    if netloc in host.rest_api.addresses:
        return host.rest_api.addresses[netloc]
    return f"{parts.scheme}://{netloc}{host.rest_api.path}" if host.rest_api.path else ""


def host_of_delivery(headers: Mapping[str, str]) -> Host:
    """Return the kind of host that sent a delivery with these headers, or GitHub if no event header is known.

    If several kinds have the same header of the event, the header of the id decides.
    """
    candidates = [host for host in HOSTS if any(name in headers for name in host.deliveries.event_headers)]
    first = next(iter(candidates), GITHUB)
    with_id = [host for host in candidates if any(name in headers for name in host.deliveries.id_headers)]
    with_same_event_headers = (host for host in with_id if host.deliveries.event_headers == first.deliveries.event_headers)
    return next(with_same_event_headers, first)


def page_of(host: Host, url: str) -> str:
    """Return the address of the web page of the repository that has this git URL."""
    address = url.rstrip("/").removesuffix(".git")
    if not host.rest_api.page:
        return address
    origin, separator, path = address.rpartition(f"/{host.rest_api.git_path}/")
    owner, _, name = path.partition("/")
    return f"{origin}/{host.rest_api.page.format(owner=owner, name=name)}" if separator and name else address

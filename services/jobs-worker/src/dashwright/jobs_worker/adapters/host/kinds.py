"""The kind of each git host: by settings, by the type of the repository, by its name, or by its responses without a token."""

import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import structlog
from yarl import URL

from dashwright.common.errors import BadRequest
from dashwright.common.git_hosts.description import Host
from dashwright.common.git_hosts.github import GITHUB
from dashwright.common.git_hosts.members import member_of
from dashwright.common.git_hosts.registry import HOSTS, HostChoice, known_host, parse_choice
from dashwright.jobs_worker.adapters.host.addresses import APIS_SETTING, Api, api_at
from dashwright.jobs_worker.adapters.host.client import HostClient

log = structlog.get_logger()

_CACHE_SECONDS: Final = 3600.0
_MAX_CACHED_HOSTS: Final = 1000


class HostKinds:
    """The kinds of hosts. ``apis`` has the choice of an operator for each host (``name`` or ``name:port``), empty for no API."""

    def __init__(self, client: HostClient, apis: Mapping[str, str]) -> None:
        self._client = client
        self._apis = apis
        self._cache: OrderedDict[str, tuple[float, Host]] = OrderedDict()

    async def api_of(self, url: str, repository_type: str, token: str, namespace: str) -> Api:
        """Return the API of a repository.

        Raises BadRequest if the host has no API or the url does not name a repository, and the errors of ``HostClient.probe``.
        """
        netloc = urlsplit(url).netloc.lower()
        setting = self._apis.get(netloc)
        if setting == "":
            raise BadRequest(f"the git host {netloc} has no API according to {APIS_SETTING}: pull requests and webhooks are not available")
        choice = parse_choice(setting) if setting is not None else HostChoice(None)
        host = choice.host or known_host(repository_type, netloc)
        if host is None:
            host = GITHUB if choice.address else await self._probed(url, namespace)
        return api_at(host, choice.address, url, token, namespace)

    async def _probed(self, url: str, namespace: str) -> Host:
        """Return the kind of the host by its responses. A host without a known response is a GitHub Enterprise Server."""
        origin = URL(url).origin()
        expires_at, host = self._cache.get(str(origin), (0.0, GITHUB))
        if time.monotonic() < expires_at:
            return host
        host = await self._probe(origin, namespace)
        log.info("git_host_recognized", host=origin.host, kind=host.name)
        self._cache[str(origin)] = time.monotonic() + _CACHE_SECONDS, host
        while len(self._cache) > _MAX_CACHED_HOSTS:
            self._cache.popitem(last=False)
        return host

    async def _probe(self, origin: URL, namespace: str) -> Host:
        """Return the first kind of host whose probe gets the expected response, by status and text; GitHub without one."""
        for host in HOSTS:
            probe = host.rest_api.probe
            if probe is None:
                continue
            status, data = await self._client.probe(origin.with_path(probe.path), namespace)
            text, expected = member_of(data, probe.member), probe.texts.get(status)
            if expected is not None and isinstance(text, str) and text.startswith(expected):
                return host
        return GITHUB

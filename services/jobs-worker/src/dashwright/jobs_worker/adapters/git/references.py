"""The commit of a branch, read with one request of git's protocol version 2 and without the git program.

``git ls-remote`` starts two programs and sends two requests. Each repository is polled, so this cost counts for each of them.
"""

import asyncio
import re
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final

import aiohttp
from yarl import URL

from dashwright.common.allowed_hosts import Address
from dashwright.common.errors import SourceFailed
from dashwright.jobs_worker.adapters.host.error_responses import ErrorResponse, is_throttled
from dashwright.jobs_worker.adapters.host_session import HostRequest, HostSession

_SECONDS: Final = 10.0
_HEADERS: Final[Mapping[str, str]] = {
    "Git-Protocol": "version=2",
    "Content-Type": "application/x-git-upload-pack-request",
    "Accept": "application/x-git-upload-pack-result",
}
_RESULT_TYPE: Final = "application/x-git-upload-pack-result"
_LENGTH_DIGITS: Final = 4
"""Hexadecimal digits at the beginning of a packet, with its length including these digits."""

_DELIMITER_PACKET: Final = b"0001"
_FLUSH_PACKET: Final = b"0000"
"""End of a request or response."""

_SHA1: Final = re.compile(rb"[0-9a-f]{40}")
_PAUSE_SECONDS: Final = 600.0
"""Seconds for which the git program reads a repository after its host did not respond as expected."""

_MAX_PAUSED: Final = 10_000
"""Limit on the repositories whose pause is remembered."""


class UnexpectedReferences(Exception):
    """The host did not respond as a host with protocol version 2 does. The git program must find out why."""


class ReferenceReader:
    """A reader of references over HTTP.

    It reports a failure as UnexpectedReferences, and does not repeat the request for ten minutes: the git program knows more
    versions of the protocol, and its failures have error messages. Only limits on requests are reported as they are, because the
    program would send another request.
    """

    def __init__(self, authorities: Path | None = None) -> None:
        self._session = HostSession(authorities, seconds=_SECONDS)
        #: End of the pause by URL, as a monotonic time in seconds.
        self._paused_until: dict[str, float] = {}

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    def is_usable(self, url: str) -> bool:
        """Return whether no request to this URL has failed within the last ten minutes."""
        return self._paused_until.get(url, 0.0) <= time.monotonic()

    async def commit_of(self, url: str, reference: str, address: Address, authorization: str) -> str | None:
        """Return the commit of a reference of the repository at ``url``; None if the reference does not exist.

        ``authorization`` is the header's value, empty without a token. Raises ErrorResponse if the host limits requests, and
        UnexpectedReferences for any other failure.
        """
        try:
            return await self._commit_of(url, reference, address, authorization)
        except UnexpectedReferences:
            self._pause(url)
            raise

    async def _commit_of(self, url: str, reference: str, address: Address, authorization: str) -> str | None:
        headers = dict(_HEADERS)
        if authorization:
            headers["Authorization"] = authorization
        request = HostRequest("POST", URL(f"{url}/git-upload-pack", encoded=True), headers, _list_command(reference))
        try:
            response = await self._session.exchange(request, address)
        except (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError, TimeoutError, SourceFailed) as error:
            raise UnexpectedReferences from error
        refusal = ErrorResponse(response.status, response.headers, response.body)
        if is_throttled(refusal):
            raise refusal
        if response.status != HTTPStatus.OK or response.headers.get("Content-Type") != _RESULT_TYPE:
            raise UnexpectedReferences
        commits = await asyncio.to_thread(dict, _references(response.body))
        return commits.get(reference)

    def _pause(self, url: str) -> None:
        # Clearing all entries is simpler than evicting the oldest and costs one request for each repository.
        if len(self._paused_until) >= _MAX_PAUSED:
            self._paused_until.clear()
        self._paused_until[url] = time.monotonic() + _PAUSE_SECONDS


def _list_command(reference: str) -> bytes:
    """Return the command ``ls-refs`` for references with a prefix, as packets of gitprotocol-v2(5)."""
    return _packet("command=ls-refs\n") + _DELIMITER_PACKET + _packet(f"ref-prefix {reference}\n") + _FLUSH_PACKET


def _packet(text: str) -> bytes:
    data = text.encode()
    return f"{len(data) + _LENGTH_DIGITS:04x}".encode() + data


def _references(body: bytes) -> Iterator[tuple[str, str]]:
    """Yield the name and commit of each reference. Raises UnexpectedReferences if the body is not such a list."""
    start = 0
    while (digits := body[start : start + _LENGTH_DIGITS]) != _FLUSH_PACKET:
        try:
            length = int(digits, 16)
        except ValueError as error:
            raise UnexpectedReferences from error
        commit, separator, name = body[start + _LENGTH_DIGITS : start + length].rstrip(b"\n").partition(b" ")
        if length <= _LENGTH_DIGITS or not separator or not _SHA1.fullmatch(commit):
            raise UnexpectedReferences
        yield name.decode(errors="replace"), commit.decode(errors="replace")
        start += length

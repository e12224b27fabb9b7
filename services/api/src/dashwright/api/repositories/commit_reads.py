"""Cached reads of files at commits. The pictures of one preview share them, since each picture needs the whole file."""

import re
from typing import Final

from cachetools import TTLCache

from dashwright.api.workers.repository_client import RepositoryClient
from dashwright.common.models.repository_calls import FileRequest
from dashwright.common.single_flight import SingleFlight

_TTL_SECONDS: Final = 10.0
"""Time for which a response is kept. Rights on the objects in it are checked for each request."""
_MAX_BYTES: Final = 16 * 1024 * 1024
"""Limit on the bytes of all kept responses."""
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


class CommitReads:
    """A client of the jobs worker that keeps responses about files at commits for some seconds."""

    def __init__(self, client: RepositoryClient) -> None:
        self._client = client
        self._bodies: TTLCache[bytes, bytes] = TTLCache(_MAX_BYTES, _TTL_SECONDS, getsizeof=len)
        self._running_reads: SingleFlight[bytes, bytes] = SingleFlight()

    async def call(self, request: FileRequest, *, deadline: float) -> bytes:
        """Return the worker's response. Raises the errors of ``RepositoryClient.call``.

        Only responses about commits are kept, because the files of a branch change.
        """
        if not _COMMIT.fullmatch(request.ref):
            return await self._client.call(request, deadline=deadline)
        key = request.to_json()
        if (body := self._bodies.get(key)) is not None:
            return body

        async def read() -> bytes:
            body = await self._client.call(request, deadline=deadline)
            # The cache raises ValueError for a body that is larger than the whole cache.
            if len(body) <= _MAX_BYTES:
                self._bodies[key] = body
            return body

        return await self._running_reads.run(key, read)

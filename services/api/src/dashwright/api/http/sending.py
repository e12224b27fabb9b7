"""Sending of responses, as fast as their clients read and within a budget of memory."""

from collections.abc import AsyncIterator
from contextlib import ExitStack

import structlog
from aiohttp import web

from dashwright.api.http.budget import ResponseBudget, ResponseOwner
from dashwright.api.http.compression import compressed
from dashwright.api.http.in_flight import InFlightRequests
from dashwright.api.http.response import Response, StreamedBody
from dashwright.api.http.streaming import SLICE, Streams, close
from dashwright.common.errors import DashwrightError, TooManyRequests, Unavailable

log = structlog.get_logger()


class Sender:
    """The sender of responses. It counts the bytes of each response until the client has read them."""

    def __init__(self, streams: Streams, budget: ResponseBudget, running: InFlightRequests) -> None:
        self._streams = streams
        self._budget = budget
        self._running = running

    async def send(self, request: web.BaseRequest, response: Response, headers: dict[str, str], owner: ResponseOwner) -> web.StreamResponse:
        """Send a response to its end. Raises TooManyRequests or Unavailable, before its head, if the budget is used up."""
        with ExitStack() as held:
            try:
                held.enter_context(self._budget.hold(owner, response.size))
            except DashwrightError:
                await close(response.body)
                raise
            return await self._send(request, response, headers, owner)

    async def send_refusal(self, request: web.BaseRequest, response: Response, headers: dict[str, str]) -> web.StreamResponse:
        """Send a small response without counting it, such as the refusal of a response over budget."""
        assert isinstance(response.body, bytes)
        return await self._send_whole(request, response, response.body, headers)

    async def _send(
        self, request: web.BaseRequest, response: Response, headers: dict[str, str], owner: ResponseOwner
    ) -> web.StreamResponse:
        if response.may_compress:
            response = await compressed(response, ",".join(request.headers.getall("Accept-Encoding", ())))
        if isinstance(response.body, bytes):
            return await self._send_whole(request, response, response.body, headers)
        sent = web.StreamResponse(status=response.status, headers=_head(response, headers))
        if self._running.stopping:
            sent.force_close()
        if not response.endless:
            await self._streams.send(request, sent, response.body, endless=False)
            return sent
        try:
            await self._streams.send(request, sent, self._within_budget(response.body, owner), endless=True)
        finally:
            await close(response.body)
        return sent

    async def _send_whole(self, request: web.BaseRequest, response: Response, body: bytes, headers: dict[str, str]) -> web.StreamResponse:
        """Send a body in slices, so that the buffer of the connection holds little of it.

        A small body is sent together with the head.
        """
        is_small = len(body) <= SLICE or request.method == "HEAD"
        head = _head(response, headers)
        if is_small:
            sent: web.StreamResponse = web.Response(status=response.status, body=body, headers=head)
        else:
            sent = web.StreamResponse(status=response.status, headers=head)
            sent.content_length = len(body)
        if self._running.stopping:
            sent.force_close()
        try:
            await sent.prepare(request)
            if not is_small:
                await self._streams.write(sent, body)
            await sent.write_eof()
            await request.writer.drain()
        except ConnectionError:
            log.debug("client_gone")
        return sent

    async def _within_budget(self, body: StreamedBody, owner: ResponseOwner) -> AsyncIterator[bytes]:
        """Yield the pieces of an endless body, each counted until it is sent. The body ends at a piece over budget."""
        try:
            async for piece in body:
                with self._budget.hold(owner, len(piece) if len(piece) > SLICE else 0, shared=piece):
                    yield piece
        except (TooManyRequests, Unavailable) as error:
            log.info("stream_over_budget", error=error.message)


def _head(response: Response, headers: dict[str, str]) -> dict[str, str]:
    own = {"Content-Type": response.content_type} if response.body != b"" else {}
    return {**own, **headers, **response.headers}

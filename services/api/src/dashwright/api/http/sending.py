"""Responses on their way to clients: as fast as a client reads, and within a budget of memory."""

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
    """Sends each response to its end, and counts its bytes until then."""

    def __init__(self, streams: Streams, budget: ResponseBudget, running: InFlightRequests) -> None:
        self._streams = streams
        self._budget = budget
        self._running = running

    async def send(self, request: web.BaseRequest, answer: Response, headers: dict[str, str], owner: ResponseOwner) -> web.StreamResponse:
        """Send a response. Raises TooManyRequests or Unavailable, before its head, where the budget has no room for it."""
        with ExitStack() as held:
            try:
                held.enter_context(self._budget.hold(owner, answer.size))
            except DashwrightError:
                await close(answer.body)
                raise
            return await self._send(request, answer, headers, owner)

    async def send_refusal(self, request: web.BaseRequest, answer: Response, headers: dict[str, str]) -> web.StreamResponse:
        """Send a response that is small, beside the budget."""
        assert isinstance(answer.body, bytes)
        return await self._send_whole(request, answer, answer.body, headers)

    async def _send(self, request: web.BaseRequest, answer: Response, headers: dict[str, str], owner: ResponseOwner) -> web.StreamResponse:
        if answer.may_compress:
            answer = await compressed(answer, ",".join(request.headers.getall("Accept-Encoding", ())))
        if isinstance(answer.body, bytes):
            return await self._send_whole(request, answer, answer.body, headers)
        response = web.StreamResponse(status=answer.status, headers=_head(answer, headers))
        if self._running.stopping:
            response.force_close()
        if not answer.endless:
            await self._streams.send(request, response, answer.body, endless=False)
            return response
        try:
            await self._streams.send(request, response, self._within_budget(answer.body, owner), endless=True)
        finally:
            await close(answer.body)
        return response

    async def _send_whole(self, request: web.BaseRequest, answer: Response, body: bytes, headers: dict[str, str]) -> web.StreamResponse:
        """Send a body in slices, so that the buffer of the connection holds little of it.

        A small body goes out together with the head.
        """
        is_small = len(body) <= SLICE or request.method == "HEAD"
        head = _head(answer, headers)
        if is_small:
            response: web.StreamResponse = web.Response(status=answer.status, body=body, headers=head)
        else:
            response = web.StreamResponse(status=answer.status, headers=head)
            response.content_length = len(body)
        if self._running.stopping:
            response.force_close()
        try:
            await response.prepare(request)
            if not is_small:
                await self._streams.write(response, body)
            await response.write_eof()
            await request.writer.drain()
        except ConnectionError:
            log.debug("client_gone")
        return response

    async def _within_budget(self, body: StreamedBody, owner: ResponseOwner) -> AsyncIterator[bytes]:
        """Yield the pieces of an endless body, each counted until it is sent. The body ends where a piece finds no room."""
        try:
            async for piece in body:
                with self._budget.hold(owner, len(piece) if len(piece) > SLICE else 0, shared=piece):
                    yield piece
        except (TooManyRequests, Unavailable) as error:
            log.info("stream_over_budget", error=error.message)


def _head(answer: Response, headers: dict[str, str]) -> dict[str, str]:
    own = {"Content-Type": answer.content_type} if answer.body != b"" else {}
    return {**own, **headers, **answer.headers}

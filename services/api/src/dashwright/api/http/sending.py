"""Sending of responses, at the speed of their clients and within a budget of memory."""

from collections.abc import AsyncIterator
from contextlib import ExitStack

import structlog
from aiohttp import web

from dashwright.api.http.compression import compress_response
from dashwright.api.http.in_flight import InFlightRequests
from dashwright.api.http.response import Response, StreamedBody
from dashwright.api.http.response_budget import ResponseBudget, ResponseOwner
from dashwright.api.http.streaming import SLICE_BYTES, Streams, close_body
from dashwright.common.errors import DashwrightError, TooManyRequests, Unavailable

log = structlog.get_logger()


class Sender:
    """The sender of responses. It counts the bytes of each response until the client has read them."""

    def __init__(self, streams: Streams, budget: ResponseBudget, in_flight: InFlightRequests) -> None:
        self._streams = streams
        self._budget = budget
        self._in_flight = in_flight

    async def send(self, request: web.BaseRequest, response: Response, headers: dict[str, str], owner: ResponseOwner) -> web.StreamResponse:
        """Send head and body of a response, and return it.

        Raises TooManyRequests or Unavailable, before the head is sent, if the budget is used up.
        """
        with ExitStack() as reservations:
            try:
                reservations.enter_context(self._budget.reserve(owner, _bytes_in_memory(response)))
            except DashwrightError:
                await close_body(response.body)
                raise
            return await self._send(request, response, headers, owner)

    async def send_refusal(self, request: web.BaseRequest, response: Response, headers: dict[str, str]) -> web.StreamResponse:
        """Send a small response without counting its bytes, such as the refusal of a response over budget."""
        assert isinstance(response.body, bytes)
        return await self._send_complete(request, response, response.body, headers)

    async def _send(
        self, request: web.BaseRequest, response: Response, headers: dict[str, str], owner: ResponseOwner
    ) -> web.StreamResponse:
        """Send a response whose bytes are counted already, except for an endless body, whose chunks are counted one by one."""
        if response.may_compress:
            response = await compress_response(response, ",".join(request.headers.getall("Accept-Encoding", ())))
        if isinstance(response.body, bytes):
            return await self._send_complete(request, response, response.body, headers)
        stream = web.StreamResponse(status=response.status, headers=_merged_headers(response, headers))
        if self._in_flight.is_stopping:
            stream.force_close()
        if not response.is_endless:
            await self._streams.send(request, stream, response.body, is_endless=False)
            return stream
        try:
            await self._streams.send(request, stream, self._reserve_chunks(response.body, owner), is_endless=True)
        finally:
            await close_body(response.body)  # The stream closes only the iterator around the body.
        return stream

    async def _send_complete(
        self, request: web.BaseRequest, response: Response, body: bytes, headers: dict[str, str]
    ) -> web.StreamResponse:
        """Send a body in slices, so that the connection buffers little of it.

        A small body is sent together with the head. For HEAD requests, aiohttp omits the body.
        """
        is_single_write = len(body) <= SLICE_BYTES or request.method == "HEAD"
        merged_headers = _merged_headers(response, headers)
        if is_single_write:
            stream: web.StreamResponse = web.Response(status=response.status, body=body, headers=merged_headers)
        else:
            stream = web.StreamResponse(status=response.status, headers=merged_headers)
            stream.content_length = len(body)
        if self._in_flight.is_stopping:
            stream.force_close()
        try:
            await stream.prepare(request)
            if not is_single_write:
                await self._streams.write(stream, body)
            await stream.write_eof()
            # The budget counts the response until the client has read all but what the connection may buffer.
            await request.writer.drain()
        except ConnectionError:
            log.debug("client_gone")
        return stream

    async def _reserve_chunks(self, body: StreamedBody, owner: ResponseOwner) -> AsyncIterator[bytes]:
        """Yield the chunks of an endless body, each counted until it is sent. The body ends before a chunk that is over budget."""
        try:
            async for chunk in body:
                # A chunk of at most one slice fits into the buffer of the connection, so it is not counted.
                counted_bytes = len(chunk) if len(chunk) > SLICE_BYTES else 0
                with self._budget.reserve(owner, counted_bytes, shared_chunk=chunk):
                    yield chunk
        except (TooManyRequests, Unavailable) as error:
            log.info("stream_over_budget", error=error.message)


def _bytes_in_memory(response: Response) -> int:
    """Return the number of bytes that a response has in memory until it is sent."""
    if isinstance(response.body, bytes):
        return len(response.body)
    return 0 if response.is_endless else response.buffered_bytes


def _merged_headers(response: Response, headers: dict[str, str]) -> dict[str, str]:
    """Return all headers of a response. Its own replace those of ``headers``, and an empty body has no content type."""
    content_headers = {"Content-Type": response.content_type} if response.body != b"" else {}
    return {**content_headers, **headers, **response.headers}

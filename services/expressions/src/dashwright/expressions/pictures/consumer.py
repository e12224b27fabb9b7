"""Consumer of requests for pictures."""

from time import monotonic, perf_counter
from typing import Final

import structlog
from pydantic import ValidationError

from dashwright.common.errors import BadRequest
from dashwright.common.fair_limiter import FairLimiter
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import Reply, Request, RpcServer
from dashwright.common.messaging.signing import Signer
from dashwright.common.models.pictures import PictureRequest
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions import queries
from dashwright.expressions.pictures.picture import draw
from dashwright.expressions.pictures.plotter import Plotter

_log = structlog.get_logger()

#: Pictures whose queries run concurrently; they are drawn one after another.
_SLOTS: Final = 2

_WAITING: Final = 16


class PictureConsumer:
    """Takes requests for pictures from the queue; a picture may take ``seconds``."""

    def __init__(self, broker: Broker, signer: Signer, settings: queries.QuerySettings, *, seconds: float) -> None:
        self._settings = settings
        self._seconds = seconds
        self._plotter = Plotter()
        self._limiter = FairLimiter(_SLOTS, waiting=_WAITING, subject="pictures")
        self._server = RpcServer(broker, broker.topology.pictures, self._respond, signer, prefetch=self._limiter.capacity)

    async def start(self) -> None:
        """Start to take requests."""
        await self._server.start()

    async def stop(self, *, drain: float) -> None:
        """Stop taking requests, wait up to ``drain`` seconds for those being drawn, and end the child."""
        await self._server.stop(drain=drain)
        await self._plotter.stop()

    async def _respond(self, request: Request) -> Reply:
        started = perf_counter()
        try:
            wanted = PictureRequest.model_validate_json(request.body)
        except ValidationError as error:
            raise BadRequest(f"the request for a picture cannot be read: {error.errors(include_url=False)[0]['msg']}") from error
        context = QueryContext.of(request.headers)
        async with self._limiter.slot(context.org_id):
            until = monotonic() + min(self._seconds, request.deadline - self._settings.clock.seconds())
            picture = await draw(wanted, context, self._settings, self._plotter, until)
        _log.info("picture_drawn", bytes=len(picture.body), ms=round((perf_counter() - started) * 1000, 3))
        return Reply(picture.body, {"content_type": picture.media_type})

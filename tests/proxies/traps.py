"""Traps at moments of a service's conversations, which run an action of the test while the conversation is stopped there."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from tests.proxies.conversation import Moment

Action = Callable[[], Awaitable[object]]


class TrapSprung(ConnectionError):
    """A trap stopped a conversation. Its connection is closed, and nothing more is forwarded."""


class Traps:
    """Traps of the connections of one service. Each runs its action once."""

    def __init__(self) -> None:
        #: Number of times that each moment was reached.
        self.reached: Counter[Moment] = Counter()
        self._armed: dict[Moment, tuple[Action, asyncio.Future[None]]] = {}

    def arm(self, moment: Moment, action: Action) -> asyncio.Future[None]:
        """Run ``action`` when a conversation next reaches ``moment``, and close that conversation then.

        Return a future that is done after the action. Cancelling it removes the trap.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._armed[moment] = action, done
        done.add_done_callback(lambda _: self._armed.pop(moment, None))
        return done

    async def reach(self, moment: Moment) -> None:
        """Count a moment, and run the action of its trap. Raises TrapSprung if there is one."""
        self.reached[moment] += 1
        trap = self._armed.pop(moment, None)
        if trap is None:
            return
        action, done = trap
        try:
            await action()
        finally:
            if not done.done():
                done.set_result(None)
        raise TrapSprung(str(moment))

"""The parts of a gateway that concern dead letters."""

from dashwright.api.dead_letters.cleaner import CLEAN_INTERVAL_SECONDS, DeadLetterCleaner
from dashwright.api.dead_letters.consumer import DeadLetterConsumer
from dashwright.api.dead_letters.letters import DeadLetters
from dashwright.common.chore import Chore
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.broker import Broker
from dashwright.common.settings import Settings


class DeadLetterParts:
    """The consumer, the use cases and the cleaner of dead letters."""

    def __init__(self, settings: Settings, database: Database, broker: Broker, clock: Clock) -> None:
        cleaner = DeadLetterCleaner(database, clock, days=settings.dead_letter_days, keep=settings.dead_letters_kept)
        self._cleaning = Chore("clean_dead_letters", cleaner.clean, seconds=CLEAN_INTERVAL_SECONDS)
        self._consumer = DeadLetterConsumer(broker, database, clock)
        self.use_cases = DeadLetters(database, broker, clock, allows_anonymous=settings.queue_identity)

    async def start(self) -> None:
        """Start the consumer and the cleaner."""
        self._cleaning.start()
        await self._consumer.start()

    async def stop(self) -> None:
        """Stop the consumer and the cleaner."""
        await self._consumer.stop()
        await self._cleaning.stop()

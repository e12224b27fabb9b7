"""The change feed as one gateway follows it."""

from collections.abc import Callable

from dashwright.common.database.pool import Database


class Feed:
    """Follows the feed of a database. While it does not listen, nobody may remember what the feed would make them forget."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._access: list[Callable[[str | None], None]] = []

    @property
    def is_listening(self) -> bool:
        return False

    def on_access(self, heard: Callable[[str | None], None]) -> None:
        """``heard`` is told the namespace whose folders or rules of access changed, or None where any may have."""
        self._access.append(heard)

    async def start(self) -> None:
        """Begins to listen."""

    async def stop(self) -> None:
        """Ends every watch cleanly."""

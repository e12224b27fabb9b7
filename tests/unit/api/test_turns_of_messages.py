"""The order in which messages about one batch are handled."""

import asyncio

from dashwright.api.repositories.queue_batches import Turns


async def test_a_closing_message_waits_for_earlier_ones() -> None:
    """The closing message waits for all messages before it. Other messages wait only for the one that creates the batch."""
    turns, handled = Turns(), list[str]()
    may_create, may_add = asyncio.Event(), asyncio.Event()

    async def handle(name: str, *, creates: bool = False, closes: bool = False, released: asyncio.Event | None = None) -> None:
        """Record the name of a message in its turn, after its event."""
        with turns.take("default", "b", creates=creates) as turn:
            await turn.wait(for_all=closes)
            if released is not None:
                await released.wait()
            handled.append(name)

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        create = group.create_task(handle("create", creates=True, released=may_create))
        slow = group.create_task(handle("slow", released=may_add))
        quick = group.create_task(handle("quick"))
        close = group.create_task(handle("close", closes=True))
        late = group.create_task(handle("late"))
        await asyncio.sleep(0)
        assert handled == []
        may_create.set()
        await asyncio.gather(create, quick, late)
        assert not close.done()
        may_add.set()
        await asyncio.gather(slow, close)
    assert handled == ["create", "quick", "late", "slow", "close"]
    assert not turns._turns


async def test_batches_do_not_wait_for_each_other() -> None:
    """The messages about another batch, or about one of another organization, have their own order."""
    turns = Turns()
    with turns.take("default", "b"), turns.take("default", "c") as other_batch, turns.take("org-2", "b") as other_organization:
        async with asyncio.timeout(10):
            await other_batch.wait(for_all=True)
            await other_organization.wait(for_all=True)

"""Requests of one organization keep no other waiting."""

import asyncio

import pytest

from dashwright.common.errors import TooManyRequests
from dashwright.jobs_worker.calls.turns import Turns


async def test_one_organization_leaves_turns_to_others() -> None:
    """Whatever its hosts do: another is at work at once, and one that asks for more than can wait is told so."""
    turns, ended, at_work = Turns(at_once=3, of_one=2, in_hand=4), asyncio.Event(), []

    async def ask(namespace: str) -> None:
        async with turns.taken(namespace):
            at_work.append(namespace)
            await ended.wait()

    asked = [asyncio.create_task(ask(namespace)) for namespace in ("slow", "slow", "slow", "slow", "other", "third")]
    await asyncio.sleep(0)
    assert at_work == ["slow", "slow", "other"]
    with pytest.raises(TooManyRequests, match="4 requests like this"):
        await ask("slow")
    asked.pop(2).cancel()
    ended.set()
    await asyncio.gather(*asked)
    assert sorted(at_work) == ["other", "slow", "slow", "slow", "third"]
    async with turns.taken("slow"):
        pass

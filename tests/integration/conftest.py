"""Fixtures of tests with one real program, which share an event loop and connections to the database."""

import asyncio

import pytest

from dashwright.common.database.pool import Database


@pytest.fixture
def _function_scoped_runner(shared_runner: asyncio.Runner) -> asyncio.Runner:
    return shared_runner


@pytest.fixture
def database(warm_database: Database) -> Database:
    return warm_database

"""Fixtures of tests with one real program, which share an event loop and connections to the database."""

import asyncio

import pytest

from dashwright.common.database.pool import Database


@pytest.fixture
def _function_scoped_runner(shared_runner: asyncio.Runner) -> asyncio.Runner:
    """Run each test in the shared event loop: this replaces the fixture of pytest-asyncio, which creates a loop for each test."""
    return shared_runner


@pytest.fixture
def database(warm_database: Database) -> Database:
    """Provide a migrated database whose connections are already open."""
    return warm_database

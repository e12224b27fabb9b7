"""Processor time, which others on the machine disturb less than the time on the clock."""

import os
import resource
import time
from pathlib import Path
from typing import Final, Self

import asyncpg

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PROCESSES: Final = Path("/proc")


class Processor:
    """Of all that works at a sync but the git host: this process, the programs that it has run, and PostgreSQL."""

    def __init__(self, server: int) -> None:
        self._server = server

    @classmethod
    async def of(cls, database_url: str) -> Self:
        """The server must be one of this machine."""
        connection = await asyncpg.connect(database_url)
        try:
            parent, _ = _told(await connection.fetchval("select pg_backend_pid()"))
        finally:
            await connection.close()
        return cls(parent)

    @property
    def seconds(self) -> float:
        """Used so far."""
        programs = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + programs.ru_utime + programs.ru_stime + self._database()

    def _database(self) -> float:
        """Of the server, its children that are there, and those that were, which it has counted."""
        used = _told(self._server)[1]
        for place in _PROCESSES.iterdir():
            if place.name.isdigit():
                try:
                    parent, seconds = _told(int(place.name))
                except (FileNotFoundError, ProcessLookupError):
                    continue
                used += seconds if parent == self._server else 0.0
        return used


def _told(process: int) -> tuple[int, float]:
    """What the kernel says of a process: its parent, and the seconds of it and of its children that have ended."""
    fields = (_PROCESSES / str(process) / "stat").read_text().rpartition(")")[2].split()
    return int(fields[1]), sum(map(int, fields[11:15])) / _TICKS

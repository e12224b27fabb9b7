"""Processor time, which other processes disturb less than the time on the clock."""

import os
import resource
import time
from pathlib import Path
from typing import Final, Self

import asyncpg

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PROCESSES: Final = Path("/proc")


class Processor:
    """The processor time of a sync without the git host: this process, the programs it has run, and PostgreSQL."""

    def __init__(self, server: int) -> None:
        self._server = server

    @classmethod
    async def of(cls, database_url: str) -> Self:
        """Return the processor time of the processes on a database, whose server must be on this machine."""
        connection = await asyncpg.connect(database_url)
        try:
            parent, _ = _usage(await connection.fetchval("select pg_backend_pid()"))
        finally:
            await connection.close()
        return cls(parent)

    @property
    def seconds(self) -> float:
        """Return the seconds used so far."""
        programs = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + programs.ru_utime + programs.ru_stime + self._database()

    def _database(self) -> float:
        """Return the seconds of the server, its current children, and its ended ones, which it has counted."""
        used = _usage(self._server)[1]
        for place in _PROCESSES.iterdir():
            if place.name.isdigit():
                try:
                    parent, seconds = _usage(int(place.name))
                except (FileNotFoundError, ProcessLookupError):
                    continue
                used += seconds if parent == self._server else 0.0
        return used


def _usage(process: int) -> tuple[int, float]:
    """Return a process's parent, and the seconds used by it and its ended children."""
    fields = (_PROCESSES / str(process) / "stat").read_text().rpartition(")")[2].split()
    return int(fields[1]), sum(map(int, fields[11:15])) / _TICKS

"""Processor time of syncs, which other processes on the machine disturb less than elapsed time."""

import os
import resource
import time
from pathlib import Path
from typing import Final, Self

import asyncpg

#: Clock ticks of the kernel per second.
_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
_PROCESSES: Final = Path("/proc")


class ProcessorClock:
    """The processor time of this process, of the programs that it has run, and of PostgreSQL, but not of the git host."""

    def __init__(self, server_pid: int) -> None:
        self._server_pid = server_pid

    @classmethod
    async def for_database(cls, database_url: str) -> Self:
        """Return the clock for a database, whose server must be on this machine."""
        connection = await asyncpg.connect(database_url)
        try:
            # The parent of a backend process is the server.
            server_pid, _ = _usage(await connection.fetchval("select pg_backend_pid()"))
        finally:
            await connection.close()
        return cls(server_pid)

    @property
    def seconds(self) -> float:
        """The seconds used so far."""
        programs = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + programs.ru_utime + programs.ru_stime + self._database_seconds()

    def _database_seconds(self) -> float:
        """Return the seconds of the server with its ended child processes, and of its current ones."""
        seconds_used = _usage(self._server_pid)[1]
        for entry in _PROCESSES.iterdir():
            if entry.name.isdigit():
                try:
                    parent, seconds = _usage(int(entry.name))
                except (FileNotFoundError, ProcessLookupError):  # The process has ended.
                    continue
                seconds_used += seconds if parent == self._server_pid else 0.0
        return seconds_used


def _usage(pid: int) -> tuple[int, float]:
    """Return the id of a process's parent, and the seconds used by the process and its ended children."""
    # The fields after the name of the program in parentheses; 1 is the parent, 11 to 14 are utime, stime, cutime and cstime.
    fields = (_PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return int(fields[1]), sum(map(int, fields[11:15])) / _TICKS_PER_SECOND

"""The run of a command that uses a server, and its exit status."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Final

from dashwright.common.errors import DashwrightError
from dashwright.standalone.remote.client import ServerClient
from dashwright.standalone.remote.login import ServerOptions
from dashwright.standalone.remote.output import Output
from dashwright.standalone.terminal import printable_line

# Exit statuses.
#: The request was successful, but its result is a failure, such as that of a job.
FAILED: Final = 1
#: The request failed, or an option is invalid.
NOT_DONE: Final = 2
# As in shells: 128 and the number of the signal that would have ended the program, SIGINT or SIGPIPE.
INTERRUPTED: Final = 130
OUTPUT_CLOSED: Final = 141


def run_command(
    program: str, options: ServerOptions, command: Callable[[ServerClient, Output], Awaitable[int]], *, as_json: bool = False
) -> int:
    """Return the exit status of a command, or of the error that it raised.

    ``program`` names the command in messages, such as ``dashwright jobs``.
    """

    async def run_with_client() -> int:
        async with ServerClient(options.login()) as client:
            return await command(client, Output(as_json=as_json))

    try:
        return asyncio.run(run_with_client())
    except DashwrightError as error:
        report(program, error.message)
        return NOT_DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has closed it. At exit, Python would write buffered output, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OUTPUT_CLOSED


def report(program: str, message: str) -> None:
    """Write a message of a command to standard error."""
    sys.stderr.write(f"{program}: {printable_line(message)}\n")

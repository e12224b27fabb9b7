"""Child processes that end with this process and may run as another user.

This file is also the launcher script, which runs before the program in the child process. The script changes the user, requests
from the kernel a signal at the end of the parent, and executes the program. A change of the user clears such a request, so the
script changes the user first. It is used instead of ``preexec_fn``, which is not safe in a process with threads.
"""

import ctypes
import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

#: Option of ``prctl`` on Linux that sets the signal which the process receives when its parent ends.
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class UnixAccount:
    """A user of the operating system."""

    name: str
    uid: int
    gid: int


def current_account() -> UnixAccount:
    """Return the user that runs this process."""
    uid = os.getuid()
    try:
        return UnixAccount(pwd.getpwuid(uid).pw_name, uid, os.getgid())
    except KeyError:
        return UnixAccount(f"user {uid}", uid, os.getgid())


def named_account(name: str) -> UnixAccount | None:
    """Return the user with a name, or None."""
    try:
        password_entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return UnixAccount(name, password_entry.pw_uid, password_entry.pw_gid)


def spawn(
    command: Sequence[str | Path],
    *,
    account: UnixAccount,
    output: IO[bytes],
    parent_end_signal: signal.Signals,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start ``command`` as ``account`` in a new session, so that Ctrl-C in the terminal does not reach it.

    On Linux the child receives the signal ``parent_end_signal`` when the *calling thread* ends, so call this function in the
    main thread. On other systems the child keeps running if this process is killed. Raises OSError if the program cannot
    be started.
    """
    launcher = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(parent_end_signal)), str(account.uid), str(account.gid)]
    return subprocess.Popen(  # noqa: S603 (the callers choose the programs)
        [*launcher, *map(str, command)],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd="/",
        env={"PATH": os.defpath, "LC_ALL": "C", **(environment or {})},
        start_new_session=True,
    )


def stop(process: subprocess.Popen[bytes], *signals: signal.Signals, timeout_seconds: float) -> int:
    """Send signals until the process ends, and wait ``timeout_seconds`` after each. Then kill the process. Return its exit status."""
    for sent_signal in signals:
        if process.poll() is None:
            process.send_signal(sent_signal)
        try:
            return process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            continue
    process.kill()
    return process.wait()


def _execute(arguments: list[int], command: list[str]) -> None:
    """Replace this process, the launcher script, by the program."""
    parent_pid, parent_end_signal, uid, gid = arguments
    if os.geteuid() != uid:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    os.umask(0o077)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, parent_end_signal)
        if os.getppid() != parent_pid:  # The parent ended before the signal was requested.
            sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 (no shell is needed)


if __name__ == "__main__":
    _execute([int(argument) for argument in sys.argv[1:5]], sys.argv[5:])

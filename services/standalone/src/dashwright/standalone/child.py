"""Child processes that end with this process, run as an unprivileged user where they refuse root.

This file is also the script between this process and the program: it changes the user, requests a signal for the
parent's end from the kernel, and executes the program. The order matters, because changing the user clears the
request. Python code between fork and exec (``preexec_fn``) is not safe next to threads.
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

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class UnixAccount:
    """The user that a child runs as."""

    name: str
    uid: int
    gid: int


def current_account() -> UnixAccount:
    """Return the user of this process."""
    uid = os.getuid()
    try:
        return UnixAccount(pwd.getpwuid(uid).pw_name, uid, os.getgid())
    except KeyError:
        return UnixAccount(f"user {uid}", uid, os.getgid())


def named_account(name: str) -> UnixAccount | None:
    """Return the user with a name, or None."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return UnixAccount(name, entry.pw_uid, entry.pw_gid)


def spawn(
    command: Sequence[str | Path],
    *,
    account: UnixAccount,
    output: IO[bytes],
    at_parents_end: signal.Signals,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start ``command`` in a session of its own, so that Ctrl-C in the terminal does not reach it.

    On Linux the child gets ``at_parents_end`` when the *thread* that called this ends: call it from the main
    thread. On other systems the child survives if this process is killed. Raises OSError if this process may not
    start programs.
    """
    head = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(at_parents_end)), str(account.uid), str(account.gid)]
    return subprocess.Popen(  # noqa: S603 (the callers choose the programs)
        [*head, *map(str, command)],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd="/",
        env={"PATH": os.defpath, "LC_ALL": "C", **(environment or {})},
        start_new_session=True,
    )


def wait(process: subprocess.Popen[bytes], *signals: signal.Signals, patience: float) -> int:
    """Send signals one after another, waiting ``patience`` seconds after each; kill the process after the last."""
    for number in signals:
        if process.poll() is None:
            process.send_signal(number)
        try:
            return process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    process.kill()
    return process.wait()


def _become(numbers: list[int], command: list[str]) -> None:
    """Turn this process into the program."""
    parent, at_parents_end, uid, gid = numbers
    if os.geteuid() != uid:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    os.umask(0o077)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, at_parents_end)
        if os.getppid() != parent:  # The parent ended before the signal was requested.
            sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 (no shell is needed)


if __name__ == "__main__":
    _become([int(word) for word in sys.argv[1:5]], sys.argv[5:])

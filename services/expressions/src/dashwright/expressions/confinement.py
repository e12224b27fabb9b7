"""Confinement of a child process by the kernel: no files, no network, no other processes.

Standard library only, since the programs of child processes import it. What a kernel or container does not
support is left out and missing from the returned ``Walls``; Landlock needs Linux 5.13, seccomp any Linux on
x86-64 or arm64. Sources: landlock(7), seccomp(2), and the system call tables of Linux 6.18.
"""

import contextlib
import ctypes
import os
import platform
import signal
import stat
import struct
import sys
from collections.abc import Sequence
from typing import NamedTuple

_NOBODY = 65534

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_CLONE_THREAD = 0x00010000

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38

_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_FILTER_FLAG_TSYNC = 1

_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_ADD_RULE = 445
_LANDLOCK_RESTRICT_SELF = 446
_LANDLOCK_CREATE_RULESET_VERSION = 1
_LANDLOCK_RULE_PATH_BENEATH = 1
_LANDLOCK_READ_FILE, _LANDLOCK_READ_DIR = 1 << 2, 1 << 3

#: Number of rights on files that each version of Landlock knows; a later version knows those of the last one.
_LANDLOCK_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_LANDLOCK_TCP = 0b11  #: Binding and connecting, from version 4 on.
_LANDLOCK_SCOPES = 0b11  #: Abstract sockets and signals of other processes, from version 6 on.

_EPERM = 1
_ENOSYS = 38

# Instructions and results of the packet filter language, from linux/bpf_common.h and linux/seccomp.h.
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_SET, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENT = 0, 4, 16


class _Machine(NamedTuple):
    """Numbers of a processor architecture that the filter needs."""

    architecture: int  #: AUDIT_ARCH_… of linux/audit.h.
    seccomp: int
    clone: int
    clone3: int
    tgkill: int
    prlimit64: int
    denied: Sequence[int]  #: Numbers of the system calls that are refused whatever their arguments are.


# In this order: sockets; new programs and other processes; mounts and namespaces; kernel interfaces;
# attributes of files, which Landlock does not cover; message queues and shared memory; watching files.
_MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        317,
        56,
        435,
        234,
        302,
        (
            *(41, 42, 43, 44, 46, 49, 50, 53, 288, 307),
            *(57, 58, 59, 322, 62, 200, 129, 297, 101, 310, 311, 312, 424, 434, 438, 440, 141),
            *(155, 161, 165, 166, 272, 308, 303, 304, 428, 429, 430, 431, 432, 433, 442),
            *(321, 298, 425, 426, 427, 323, 248, 249, 250, 175, 313, 176, 246, 320, 169, 167, 168, 135),
            *(90, 91, 268, 452, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199),
            *(29, 64, 68, 240),
            *(253, 294, 300),
        ),
    ),
    "aarch64": _Machine(
        0xC00000B7,
        277,
        220,
        435,
        131,
        261,
        (
            *(198, 199, 200, 201, 202, 203, 206, 211, 242, 269),
            *(221, 281, 129, 130, 138, 240, 117, 270, 271, 272, 424, 434, 438, 440, 140),
            *(39, 40, 41, 51, 97, 268, 264, 265, 428, 429, 430, 431, 432, 433, 442),
            *(280, 241, 425, 426, 427, 282, 217, 218, 219, 105, 273, 106, 104, 294, 142, 224, 225, 92),
            *(52, 53, 452, 54, 55, 88, 5, 6, 7, 14, 15, 16),
            *(180, 186, 190, 194),
            *(26, 262),
        ),
    ),
}


class Walls(NamedTuple):
    """The confinement that the kernel enforces on this process."""

    landlock: int  #: Version of Landlock that holds files, 0 where there is none.
    seccomp: bool  #: Sockets, new programs and other processes are refused.


def leave_privileges(parent: int) -> None:
    """Enter an empty network namespace where allowed, give up root and gaining privileges, and end with ``parent``.

    Call it before any thread is started.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if os.geteuid() == 0:
            libc.unshare(_CLONE_NEWNET)
            # Without the capability to change its user, root has no more rights than its container leaves it.
            with contextlib.suppress(PermissionError):
                os.setgroups([])
                os.setresgid(_NOBODY, _NOBODY, _NOBODY)
                os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        else:
            libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
        # After the change of user, which makes the kernel forget whose end to follow.
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def shut_files(readable: Sequence[str] = ()) -> int:
    """Refuse to open any file but those below ``readable``, for this thread and those it starts.

    Return the version of Landlock, or 0 where the kernel has none.
    """
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    version = int(libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_CREATE_RULESET_VERSION))
    if version < 1:
        return 0
    rights = (1 << _LANDLOCK_FILE_RIGHTS.get(version, max(_LANDLOCK_FILE_RIGHTS.values()))) - 1
    members = [rights]
    if version >= 4:
        members.append(_LANDLOCK_TCP)
    if version >= 6:
        members.append(_LANDLOCK_SCOPES)
    attributes = struct.pack(f"{len(members)}Q", *members)
    rules = int(libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0))
    if rules < 0:
        return 0
    try:
        for path in readable:
            _permit(libc, rules, path)
        is_shut = libc.syscall(_LANDLOCK_RESTRICT_SELF, rules, 0) == 0
    finally:
        os.close(rules)
    return version if is_shut else 0


def _permit(libc: ctypes.CDLL, rules: int, path: str) -> None:
    """Permit reading the file ``path``, or all files below the directory; a path that is missing is passed over."""
    with contextlib.suppress(FileNotFoundError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rights = _LANDLOCK_READ_FILE | (_LANDLOCK_READ_DIR if stat.S_ISDIR(os.fstat(place).st_mode) else 0)
            libc.syscall(_LANDLOCK_ADD_RULE, rules, _LANDLOCK_RULE_PATH_BENEATH, struct.pack("=Qi", rights, place), 0)
        finally:
            os.close(place)


def shut_kernel() -> bool:
    """Refuse system calls that reach the network, other processes or the system, for all threads.

    Return whether the kernel took the filter.
    """
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        return False
    code = _filter(machine, os.getpid())
    text = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HP", len(code) // 8, ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(machine.seccomp, _SECCOMP_SET_MODE_FILTER, _SECCOMP_FILTER_FLAG_TSYNC, program)) == 0


def _filter(machine: _Machine, pid: int) -> bytes:
    """Return the filter: refused calls fail with EPERM, so that libraries that only try one go on without it."""
    refuse = _ERROR | _EPERM
    code = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_IF_EQUAL, 1, 0, machine.architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        # Calls of the x32 interface have numbers of their own from here on.
        (_JUMP_IF_AT_LEAST, 0, 1, 0x40000000),
        (_RETURN, 0, 0, refuse),
        # The flags of clone3 are in memory that a filter cannot read; libraries fall back to clone.
        (_JUMP_IF_EQUAL, 0, 1, machine.clone3),
        (_RETURN, 0, 0, _ERROR | _ENOSYS),
    ]
    for number in machine.denied:
        code += [(_JUMP_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, refuse)]
    code += [
        # Threads may be made, processes not.
        (_JUMP_IF_EQUAL, 0, 4, machine.clone),
        (_LOAD, 0, 0, _ARGUMENT),
        (_JUMP_IF_SET, 0, 1, _CLONE_THREAD),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, refuse),
        # A program ends itself by a signal to its own threads.
        (_JUMP_IF_EQUAL, 0, 4, machine.tgkill),
        (_LOAD, 0, 0, _ARGUMENT),
        (_JUMP_IF_EQUAL, 0, 1, pid),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, refuse),
        # Limits of this process may be read and lowered.
        (_JUMP_IF_EQUAL, 0, 5, machine.prlimit64),
        (_LOAD, 0, 0, _ARGUMENT),
        (_JUMP_IF_EQUAL, 1, 0, 0),
        (_JUMP_IF_EQUAL, 0, 1, pid),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)

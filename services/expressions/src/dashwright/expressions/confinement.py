"""Confinement of a child process by the kernel: no files, no network, no other processes.

It uses the standard library only, because the programs of child processes import it. Restrictions that the kernel or
container does not support are skipped and reported. Landlock needs Linux 5.13, seccomp any Linux on x86-64 or arm64.

Sources: landlock(7), seccomp(2), and the system call tables of Linux 6.18.
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

#: The id of the user and the group *nobody*.
_NOBODY = 65534

# Numbers and flags of linux/sched.h, linux/prctl.h, linux/seccomp.h and linux/landlock.h, and system calls of Landlock.
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

#: The number of rights on files by version of Landlock; later versions have those of the last one.
_LANDLOCK_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_LANDLOCK_TCP = 0b11  #: Binding and connecting, from version 4 on.
_LANDLOCK_SCOPES = 0b11  #: Abstract sockets and signals of other processes, from version 6 on.

#: Numbers from this on are calls of the x32 interface, which would circumvent the filter.
_FIRST_X32_CALL = 0x40000000

# Error numbers of refused calls.
_EPERM = 1
_ENOSYS = 38

# Instructions of the packet filter language, and results of a filter, from linux/bpf_common.h and linux/seccomp.h.
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_SET, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_INSTRUCTION_BYTES = 8
# Offsets of the call's number, the architecture and the first argument in the struct seccomp_data.
_CALL_OFFSET, _ARCHITECTURE_OFFSET, _ARGUMENT_OFFSET = 0, 4, 16


class _Machine(NamedTuple):
    """The system call numbers of a processor architecture."""

    architecture: int  #: AUDIT_ARCH_… of linux/audit.h.
    seccomp: int
    clone: int
    clone3: int
    tgkill: int
    prlimit64: int
    denied_calls: Sequence[int]  #: System calls that are refused with any arguments.


# The denied calls are, in this order: sockets; new programs and other processes; mounts and namespaces; kernel
# interfaces; attributes of files, which Landlock does not cover; message queues and shared memory; watching files.
_MACHINES = {
    "x86_64": _Machine(
        architecture=0xC000003E,
        seccomp=317,
        clone=56,
        clone3=435,
        tgkill=234,
        prlimit64=302,
        denied_calls=(
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
        architecture=0xC00000B7,
        seccomp=277,
        clone=220,
        clone3=435,
        tgkill=131,
        prlimit64=261,
        denied_calls=(
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


class Restrictions(NamedTuple):
    """The restrictions that the kernel enforces on this process."""

    landlock: int  #: The version of Landlock that restricts files, 0 if the kernel has none.
    seccomp: bool  #: Whether sockets, new programs and other processes are refused.


def drop_privileges(parent: int) -> None:
    """Enter an empty network namespace if allowed, and drop root and the right to gain privileges.

    The process is killed when its parent process, the process id ``parent``, ends. Call this before any thread is
    started.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if os.geteuid() == 0:
            libc.unshare(_CLONE_NEWNET)
            # A container may deny root the change of its user. That root has only the rights of the container.
            with contextlib.suppress(PermissionError):
                os.setgroups([])
                os.setresgid(_NOBODY, _NOBODY, _NOBODY)
                os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        else:
            # Only in a user namespace of its own may an ordinary user create a network namespace.
            libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
        # After the change of user, which resets the signal for the end of the parent.
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # A parent that ended before prctl was called sends no signal.
    if os.getppid() != parent:
        os._exit(1)


def restrict_files(readable: Sequence[str] = ()) -> int:
    """Refuse to open any file except those below the paths ``readable``, in this thread and threads that it starts.

    Return the version of Landlock, or 0 if the kernel has none.
    """
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    version = int(libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_CREATE_RULESET_VERSION))
    if version < 1:
        return 0
    file_right_count = _LANDLOCK_FILE_RIGHTS.get(version, max(_LANDLOCK_FILE_RIGHTS.values()))
    # A bit for each right. The kernel refuses bits that its version does not have.
    restrictions = [(1 << file_right_count) - 1]
    if version >= 4:
        restrictions.append(_LANDLOCK_TCP)
    if version >= 6:
        restrictions.append(_LANDLOCK_SCOPES)
    attributes = struct.pack(f"{len(restrictions)}Q", *restrictions)
    ruleset = int(libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0))
    if ruleset < 0:
        return 0
    try:
        for path in readable:
            _permit(libc, ruleset, path)
        is_restricted = libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)
    return version if is_restricted else 0


def _permit(libc: ctypes.CDLL, ruleset: int, path: str) -> None:
    """Permit reading the file ``path``, or all files below the directory. A missing path is skipped."""
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rights = _LANDLOCK_READ_FILE | (_LANDLOCK_READ_DIR if stat.S_ISDIR(os.fstat(descriptor).st_mode) else 0)
            # The packed struct landlock_path_beneath_attr of linux/landlock.h.
            attributes = struct.pack("=Qi", rights, descriptor)
            libc.syscall(_LANDLOCK_ADD_RULE, ruleset, _LANDLOCK_RULE_PATH_BENEATH, attributes, 0)
        finally:
            os.close(descriptor)


def restrict_system_calls() -> bool:
    """Refuse system calls that affect the network, other processes or the system, in all threads.

    Return whether the kernel accepted the filter.
    """
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        return False
    code = _filter(machine, os.getpid())
    buffer = ctypes.create_string_buffer(code, len(code))
    # The struct sock_fprog of linux/filter.h: the number of instructions and their address.
    program = struct.pack("HP", len(code) // _INSTRUCTION_BYTES, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(machine.seccomp, _SECCOMP_SET_MODE_FILTER, _SECCOMP_FILTER_FLAG_TSYNC, program)) == 0


def _filter(machine: _Machine, pid: int) -> bytes:
    """Return the code of the filter for the process ``pid``.

    Refused calls fail with EPERM, so that libraries that only probe a call continue without it.
    """
    refuse = _ERROR | _EPERM
    # An instruction is an operation, the numbers of instructions to skip if a jump's condition is true and if it is false,
    # and an operand.
    code = [
        (_LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        (_JUMP_IF_EQUAL, 1, 0, machine.architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _CALL_OFFSET),
        (_JUMP_IF_AT_LEAST, 0, 1, _FIRST_X32_CALL),
        (_RETURN, 0, 0, refuse),
        # The flags of clone3 are in memory that a filter cannot read; libraries fall back to clone.
        (_JUMP_IF_EQUAL, 0, 1, machine.clone3),
        (_RETURN, 0, 0, _ERROR | _ENOSYS),
    ]
    for call in machine.denied_calls:
        code += [(_JUMP_IF_EQUAL, 0, 1, call), (_RETURN, 0, 0, refuse)]
    code += [
        # Threads may be created, processes may not.
        (_JUMP_IF_EQUAL, 0, 4, machine.clone),
        (_LOAD, 0, 0, _ARGUMENT_OFFSET),
        (_JUMP_IF_SET, 0, 1, _CLONE_THREAD),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, refuse),
        # Programs abort by a signal to their own threads.
        (_JUMP_IF_EQUAL, 0, 4, machine.tgkill),
        (_LOAD, 0, 0, _ARGUMENT_OFFSET),
        (_JUMP_IF_EQUAL, 0, 1, pid),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, refuse),
        # The process may read and lower its own limits. It names itself by its id or by 0.
        (_JUMP_IF_EQUAL, 0, 5, machine.prlimit64),
        (_LOAD, 0, 0, _ARGUMENT_OFFSET),
        (_JUMP_IF_EQUAL, 1, 0, 0),
        (_JUMP_IF_EQUAL, 0, 1, pid),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)

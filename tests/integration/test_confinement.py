"""Confinement of child processes by the kernel: code in a child can neither read files nor reach anything outside."""

import json
import os
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dashwright.expressions import confinement
from dashwright.expressions.confinement import _MACHINES, _filter

EXPRESSIONS = Path(confinement.__file__).parent
#: A program that loads the module of a child, confines itself as that child does, and prints the result of each forbidden action.
DRIVER = """
import ctypes, importlib.util, json, os, socket, subprocess, sys, threading
program, options, secret, port, path = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5]
spec = importlib.util.spec_from_file_location("child", program)
child = importlib.util.module_from_spec(spec)
spec.loader.exec_module(child)
if hasattr(child, "_Setup"):
    confined = child._confine(child._Setup(**options))
else:
    confined = child._confine(**options, renderer=child._Renderer())
unix = socket.AF_UNIX

def in_thread():
    results = []
    thread = threading.Thread(target=lambda: results.append(attempt(lambda: open(secret).read())))
    thread.start()
    thread.join()
    if results[0] != "refused":
        return results
    raise PermissionError

def attempt(action):
    try:
        return f"possible: {action()!r}"
    except PermissionError:
        return "refused"

attempts = {
    "read a file": lambda: open(secret).read(),
    "read it from another thread": in_thread if not hasattr(child, "_Setup") else lambda: open(secret).read(),
    "read the environment": lambda: open("/proc/self/environ").read(),
    "read the parent's environment": lambda: open(f"/proc/{os.getppid()}/environ").read(),
    "list a directory": lambda: os.listdir("/"),
    "write a file": lambda: open(path + "/written", "w"),
    "change rights": lambda: os.chmod(secret, 0o777),
    "connect": lambda: socket.socket().connect(("127.0.0.1", port)),
    "connect to a local socket": lambda: socket.socket(unix).connect(path + "/socket"),
    "send a datagram": lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", port)),
    "listen": lambda: socket.socket().bind(("127.0.0.1", 0)),
    "fork": os.fork,
    "run a program": lambda: os.execv(sys.executable, [sys.executable, "-c", "pass"]),
    "signal the parent": lambda: os.kill(os.getppid(), 0),
}
print(json.dumps({name: attempt(action) for name, action in attempts.items()}))
"""
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="20" height="20">{}</svg>'

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these restrictions")


def options(program: str) -> dict[str, object]:
    """Return the options with which a child confines itself."""
    if program == "pictures":
        return {"parent": os.getpid(), "allocation_limit": 256 << 20}
    return {"parent": os.getpid(), "descriptor": 0, "bytes": 64 << 20, "address_space": 256 << 20, "cpu_seconds": 60, "macros": []}


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    """Listen on a TCP port and on a local socket; yield the former."""
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "socket"))
        unix.listen()
        yield tcp


@pytest.mark.parametrize("program", ["sql", "pictures"])
def test_code_in_a_child_reaches_nothing(program: str, tmp_path: Path, listener: socket.socket) -> None:
    """Arbitrary code in the child reaches neither the key of secrets, nor a port or local socket, nor another process."""
    secret = tmp_path / "secret.key"
    secret.write_text("key")
    secret.chmod(0o644)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    port = listener.getsockname()[1]
    command = [EXPRESSIONS / program / "child.py", json.dumps(options(program)), secret, port, tmp_path]
    process = subprocess.run(
        [sys.executable, "-I", "-c", DRIVER, *map(str, command)],
        capture_output=True,
        text=True,
        env={"PATH": os.defpath, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert process.returncode == 0, process.stderr
    results = json.loads(process.stdout)
    assert {name for name, result in results.items() if result != "refused"} == set(), results


class PictureChild:
    """The child process that renders pictures, controlled directly."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-B", str(EXPRESSIONS / "pictures" / "child.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.restrictions = self.send_request({"parent": os.getpid(), "allocation_limit": 256 << 20})["restrictions"]

    def send_request(self, request: dict[str, object]) -> dict[str, Any]:
        """Send a request with its length, and return the response with the picture as ``body``."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        text = json.dumps(request).encode()
        self._process.stdin.write(struct.pack(">I", len(text)) + text)
        self._process.stdin.flush()
        (length,) = struct.unpack(">I", self._process.stdout.read(4))
        response: dict[str, Any] = json.loads(self._process.stdout.read(length))
        response["body"] = self._process.stdout.read(response["size"])
        return response

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def picture_child() -> Iterator[PictureChild]:
    """Run one child for all tests of drawings."""
    created = PictureChild()
    yield created
    created.close()


@pytest.mark.parametrize(
    "element",
    [
        '<image href="file:///etc/hostname"/>',
        '<image xlink:href="http://127.0.0.1:1/a.png"/>',
        '<s:image xmlns:s="http://www.w3.org/2000/svg" href="a.png"/>',
        '<filter id="f"><feImage href="a.png"/></filter>',
        '<use href="other.svg#part"/>',
        "<use href=\"#part\" xlink:href='other.svg'/>",
        '<rect width="5" height="5" fill="url(other.svg#g)"/>',
        '<rect width="5" height="5" style="fill: URL( \'http://127.0.0.1/#g\')"/>',
        "<foreignObject/>",
        "<script/>",
    ],
)
def test_a_drawing_has_no_external_references(picture_child: PictureChild, element: str) -> None:
    """Images, URLs and scripts are refused before rendering, and the child continues to work."""
    refused = picture_child.send_request({"svg": PICTURE.format(element), "scale": 1})
    assert "the drawing" in str(refused["error"])
    drawn = picture_child.send_request({"svg": PICTURE.format('<defs><g id="part"/></defs><use href="#part"/>'), "scale": 1})
    assert "error" not in drawn


@pytest.mark.parametrize("declaration", ['<!DOCTYPE svg [<!ENTITY x "y">]>', '<!DOCTYPE svg SYSTEM "file:///etc/hostname">'])
def test_a_drawing_declares_no_entities(picture_child: PictureChild, declaration: str) -> None:
    """A document type is refused, because it could define elements that the check of the text does not find."""
    assert "document type" in str(picture_child.send_request({"svg": declaration + PICTURE.format(""), "scale": 1})["error"])


def test_a_drawing_may_contain_any_text(picture_child: PictureChild) -> None:
    """Titles that look like elements or URLs are text."""
    text = "<text>&lt;image href=&quot;a&quot;&gt; url(x) href='b'</text>"
    assert "error" not in picture_child.send_request({"svg": PICTURE.format(text), "scale": 1})


def interpret_filter(architecture: int, code: bytes, number: int, argument: int = 0, machine: int | None = None) -> int:
    """Interpret a filter like the kernel (BPF), and return its result for one system call."""
    data = struct.pack("iIQQ", number, architecture if machine is None else machine, 0, argument)
    instructions = [struct.unpack("HBBI", code[position : position + 8]) for position in range(0, len(code), 8)]
    position, loaded = 0, 0
    while True:
        operation, if_true, if_false, value = instructions[position]
        position += 1
        if operation == 0x06:  # return
            return int(value)
        if operation == 0x20:  # load a word of the data
            (loaded,) = struct.unpack_from("I", data, value)
            continue
        # Jumps if the loaded word is equal, has common bits, or is at least the value.
        is_true = {0x15: loaded == value, 0x45: bool(loaded & value), 0x35: loaded >= value}[operation]
        position += if_true if is_true else if_false


@pytest.mark.parametrize("name", sorted(_MACHINES))
def test_the_filter_refuses_listed_calls_only(name: str) -> None:
    """The listed system calls fail on every architecture; threads, own limits, signals and all others are allowed."""
    machine, pid = _MACHINES[name], 4242
    # SECCOMP_RET_ALLOW, and SECCOMP_RET_ERRNO with EPERM (1).
    allow, refused = 0x7FFF0000, 0x00050001
    code = _filter(machine, pid)

    def result_of(number: int, argument: int = 0) -> int:
        return interpret_filter(machine.architecture, code, number, argument)

    special = {machine.clone, machine.clone3, machine.tgkill, machine.prlimit64}
    for number in range(470):  # somewhat more than the system calls that Linux has
        if number not in special:
            assert result_of(number) == (refused if number in machine.denied_calls else allow), number
    # The flags of a thread, of a fork (SIGCHLD), and of a user namespace (CLONE_NEWUSER).
    assert [result_of(machine.clone, flags) for flags in (0x3D0F00, 0x11, 0x10000000)] == [allow, refused, refused]
    # SECCOMP_RET_ERRNO with ENOSYS (38), after which the C library falls back to ``clone``.
    assert result_of(machine.clone3) == 0x00050026
    assert [result_of(machine.tgkill, target) for target in (pid, 1)] == [allow, refused]
    assert [result_of(machine.prlimit64, target) for target in (0, pid, 1)] == [allow, allow, refused]
    # The call ``socket`` of the x32 ABI.
    assert result_of(0x40000000 | 41) == refused
    # A call by the table of i386 (AUDIT_ARCH_I386) kills the process (SECCOMP_RET_KILL_PROCESS).
    assert interpret_filter(machine.architecture, code, 0, machine=0x40000003) == 0x80000000


def test_missing_confinement_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The log reports that a kernel lacks Landlock; a fully confined child logs nothing."""
    from dashwright.expressions import confinement_report

    confinement_report._warn_once.cache_clear()
    confinement_report.report_confinement("sql", {"restrictions": {"landlock": 7, "seccomp": True}})
    assert "child_not_confined" not in capsys.readouterr().out
    for _ in range(2):
        confinement_report.report_confinement("sql", {"restrictions": {"landlock": 0, "seccomp": True}})
    assert len(re.findall("child_not_confined", capsys.readouterr().out)) == 1

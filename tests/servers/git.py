"""A git server over HTTP on the loopback: git's own backend behind a small server that can also inject faults."""

import asyncio
import base64
import os
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, TypeVar

from aiohttp import web

#: A function that returns a response to send in place of the server's, or None.
Fault = Callable[[web.Request], Awaitable[web.StreamResponse | None]]

_NO_CONFIGURATION = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
_IDENTITY = {
    f"GIT_{role}_{field_name}": value
    for role in ("AUTHOR", "COMMITTER")
    for field_name, value in (("NAME", "Test"), ("EMAIL", "t@example.org"))
}


@dataclass
class GitServer:
    """Repositories below ``root``, served over HTTP. With a ``token``, requests must authenticate with it as the password."""

    root: Path
    token: str = ""
    fault: Fault | None = None
    #: Paths that were requested, with their queries.
    requests: list[str] = field(default_factory=list)
    port: int = 0
    scheme: str = "http"
    #: Newest version of git's protocol that the server speaks.
    newest_protocol: int = 2

    #: Beginning of the paths of repositories.
    git_path: ClassVar[str] = ""

    def url(self, name: str) -> str:
        """Return the URL of a repository."""
        return f"{self.scheme}://127.0.0.1:{self.port}/{self.git_path}{name}"

    def folder(self, name: str) -> Path:
        """Return the folder of a bare repository."""
        return self.root / f"{self.git_path}{name}"

    def create_repository(self, name: str) -> "WorkTree":
        """Create a bare repository and return a work tree to change it."""
        folder = self.folder(name)
        git(self.root, "init", "--quiet", "--bare", "--initial-branch=main", str(folder))
        git(folder, "config", "http.receivepack", "true")
        work_tree = folder.with_name(f"{folder.name}.work")
        git(self.root, "clone", "--quiet", str(folder), str(work_tree))
        git(work_tree, "checkout", "--quiet", "-B", "main")
        return WorkTree(work_tree)

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """Record a request, and return the response of a fault, a refusal, or the response of git."""
        self.requests.append(request.path_qs)
        if self.fault is not None and (response := await self.fault(request)) is not None:
            return response
        if self.token and not self._is_authorized(request.headers.get("Authorization", "")):
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="git"'})
        return await self.run_backend(request)

    def _is_authorized(self, header: str) -> bool:
        """Return True if an Authorization header has the token as its password."""
        return base64.b64decode(header.removeprefix("Basic ")).decode().endswith(f":{self.token}") if header else False

    def _protocol(self, requested: str) -> str:
        """Return the version of git's protocol that the back end shall speak; empty for v0."""
        if self.newest_protocol == 1 and requested:
            return "version=1"
        return requested if self.newest_protocol > 1 else ""

    async def run_backend(self, request: web.Request) -> web.StreamResponse:
        """Return the response of git's own backend, a CGI program."""
        environment = {
            **_NO_CONFIGURATION,
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "REMOTE_USER": "test",
            "REQUEST_METHOD": request.method,
            "PATH_INFO": request.path,
            "QUERY_STRING": request.query_string,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": "",
            "GIT_PROTOCOL": self._protocol(request.headers.get("Git-Protocol", "")),
        }
        process = await asyncio.create_subprocess_exec(
            "git", "http-backend", env=environment, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate(await request.read())
        head, _, body = output.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(headers.pop("Status", "200").split()[0])
        return web.Response(status=status, headers=headers, body=body)


@dataclass(frozen=True)
class WorkTree:
    """A work tree whose commits are pushed immediately."""

    folder: Path

    def commit(self, files: dict[str, str | bytes | None], *, message: str = "change", branch: str = "main") -> str:
        """Write files, delete those with a body of None, then commit and push; return the commit's hash."""
        for path, body in files.items():
            file_path = self.folder / path
            if body is None:
                file_path.unlink()
                continue
            file_path.parent.mkdir(parents=True, exist_ok=True)
            file_path.write_bytes(body.encode() if isinstance(body, str) else body)
        return self.push(message, branch=branch)

    def push(self, message: str = "change", *, branch: str = "main", amend: bool = False) -> str:
        """Commit the content of the work tree and force-push it; return the commit's hash."""
        git(self.folder, "add", "--all", "--force")
        git(self.folder, "commit", "--quiet", "--allow-empty", "-m", message, *(["--amend"] if amend else []))
        git(self.folder, "push", "--quiet", "--force", "origin", f"HEAD:refs/heads/{branch}")
        return git(self.folder, "rev-parse", "HEAD")


def git(folder: Path, *arguments: str, stdin: str = "") -> str:
    """Run git with ``stdin`` as its standard input, and return its output."""
    process = subprocess.run(
        ["git", "-c", "safe.directory=*", *arguments],
        cwd=folder,
        env={**os.environ, **_NO_CONFIGURATION, **_IDENTITY},
        check=True,
        capture_output=True,
        input=stdin.encode(),
    )
    return process.stdout.decode().strip()


@asynccontextmanager
async def serving(root: Path, *, key_and_certificate: Path | None = None) -> AsyncIterator[GitServer]:
    """Run a server on a free loopback port while the block runs; over TLS with the PEM file ``key_and_certificate``."""
    async with listening(
        GitServer(root, scheme="https" if key_and_certificate else "http"), key_and_certificate=key_and_certificate
    ) as server:
        yield server


Served = TypeVar("Served", bound=GitServer)


@asynccontextmanager
async def listening(server: Served, *, key_and_certificate: Path | None = None) -> AsyncIterator[Served]:
    """Run an existing server object on a free loopback port while the block runs."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH) if key_and_certificate else None
    if tls is not None and key_and_certificate is not None:
        tls.load_cert_chain(key_and_certificate)
    application = web.Application(client_max_size=1 << 30)
    application.router.add_route("*", "/{path:.*}", server.respond)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        server.port = runner.addresses[0][1]
        yield server
    finally:
        await runner.cleanup()

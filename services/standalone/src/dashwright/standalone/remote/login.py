"""The address of a server and the credentials, from options, environment variables and a file."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from dashwright.common.errors import BadRequest
from dashwright.standalone.terminal import error_line


@dataclass(frozen=True, slots=True)
class Login:
    """The address of a server, a namespace, and the credentials, if any."""

    url: str
    namespace: str
    #: A service account's token, which is used instead of ``user``; empty without a token.
    token: str = field(default="", repr=False)
    #: A user as ``name:password``; empty without a user.
    user: str = field(default="", repr=False)


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The server and the credentials.

    Credentials should be given in the environment or in a file: all users of this machine can see arguments.
    """

    url: Annotated[str, Parameter(env_var="DASHWRIGHT_URL")] = "http://127.0.0.1:3000"
    "The server's address."
    token: Annotated[str, Parameter(env_var="DASHWRIGHT_TOKEN", show_default=False)] = field(default="", repr=False)
    "A service account's token."
    token_file: Annotated[Path | None, Parameter(env_var="DASHWRIGHT_TOKEN_FILE", show_default=False)] = None
    "A file that contains the token, if it is not given otherwise."
    user: Annotated[str, Parameter(env_var="DASHWRIGHT_USER", show_default=False)] = field(default="", repr=False)
    "A user, as name:password, if there is no token."
    namespace: Annotated[str, Parameter(env_var="DASHWRIGHT_NAMESPACE")] = "default"
    "The namespace of the organization."

    def login(self) -> Login:
        """Return the login with these options. Raises BadRequest if the token's file has no token."""
        return Login(self.url, self.namespace, self.token or self._token_of_file(), self.user)

    def _token_of_file(self) -> str:
        """Return the token in the file; empty without a file. Raises BadRequest if the file has no token."""
        if self.token_file is None:
            return ""
        try:
            token = self.token_file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise BadRequest(error_line(error)) from error
        except UnicodeDecodeError as error:
            raise BadRequest(f"{self.token_file} is not a text file") from error
        if not token or not token.isascii() or not token.isprintable():
            raise BadRequest(f"{self.token_file} does not contain a token: it must have one line of ASCII characters")
        return token


DEFAULT_SERVER: Final = ServerOptions()

"""Secrets in error responses of a git host, which are removed from the messages of errors."""

import base64

import orjson
import pytest

from dashwright.common.git_hosts.github import GITHUB
from dashwright.jobs_worker.adapters.host.addresses import api_at
from dashwright.jobs_worker.adapters.host.error_responses import ErrorResponse, error_for

USER_AND_PASSWORD = "anna:a-password"


@pytest.mark.parametrize(
    ("token", "secret"),
    [
        pytest.param("a-token", "a-token", id="token"),
        pytest.param(USER_AND_PASSWORD, USER_AND_PASSWORD, id="user and password"),
        pytest.param(USER_AND_PASSWORD, "a-password", id="password"),
        pytest.param(USER_AND_PASSWORD, base64.b64encode(USER_AND_PASSWORD.encode()).decode(), id="header"),
    ],
)
def test_an_echoed_secret_is_removed(token: str, secret: str) -> None:
    """A secret is removed whether it is echoed completely, in part, as a header, or with invisible characters in it."""
    api = api_at(GITHUB, "", "https://git.example.org/team/boards", token)
    for text in (secret, f"{secret[:4]}\0{secret[4:]}"):
        error = error_for(ErrorResponse(422, {}, orjson.dumps({"message": f"no: {text}!"})), api.secrets)
        assert error.message.endswith("(no: ***!)")

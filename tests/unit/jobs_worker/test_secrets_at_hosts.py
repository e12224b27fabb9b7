"""Secrets that the API of a git host echoes."""

import base64

import orjson
import pytest

from dashwright.jobs_worker.adapters.host.addresses import api_of
from dashwright.jobs_worker.adapters.host.error_responses import Refused, error_for

PAIR = "anna:a-password"


@pytest.mark.parametrize(
    ("token", "secret"),
    [
        ("a-token", "a-token"),
        (PAIR, PAIR),
        (PAIR, "a-password"),
        (PAIR, base64.b64encode(PAIR.encode()).decode()),
    ],
    ids=["token", "pair", "password", "header"],
)
def test_what_a_host_repeats_of_a_secret_is_not_shown(token: str, secret: str) -> None:
    """A secret is hidden whole, in part, as the header had it, and with invisible characters in it."""
    api = api_of("https://git.example.org/team/boards", token, {})
    for said in (secret, f"{secret[:4]}\0{secret[4:]}"):
        made = error_for(Refused(422, {}, orjson.dumps({"message": f"no: {said}!"})), api.secrets)
        assert made.message.endswith("(no: ***!)")

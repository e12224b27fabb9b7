"""What the API of a git host repeats of what it was sent."""

import base64

import orjson
import pytest

from dashwright.jobs_worker.adapters.host.addresses import api_of
from dashwright.jobs_worker.adapters.host.refusals import Refused, error_for

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
def test_what_a_host_repeats_of_a_secret_is_not_told(token: str, secret: str) -> None:
    """Whole, in part, as the header had it, and with something between its letters that is left out when it is shown."""
    api = api_of("https://git.example.org/team/boards", token, {})
    for said in (secret, f"{secret[:4]}\0{secret[4:]}"):
        made = error_for(Refused(422, {}, orjson.dumps({"message": f"no: {said}!"})), api.secrets)
        assert made.message.endswith("(no: ***!)")

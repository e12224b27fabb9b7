"""The upload budget: bounds on unauthenticated bodies, for all together and for each network."""

import pytest

from dashwright.api.http.upload_budget import UploadBudget
from dashwright.common.errors import TooManyRequests


def test_one_network_is_limited_to_its_share() -> None:
    """Several requests of a network share its limit; another network is not affected."""
    # A reservation yields a function that counts received bytes.
    uploads = UploadBudget(limit=10, network_limit=6)
    with (
        uploads.reserve("192.0.2.1") as count_first,
        uploads.reserve("192.0.2.1") as count_second,
        uploads.reserve("192.0.2.2") as count_other,
    ):
        count_first(4)
        count_second(2)
        with pytest.raises(TooManyRequests):
            count_second(1)
        count_other(4)


def test_the_total_is_limited() -> None:
    """Above the total, requests of every network are rejected."""
    uploads = UploadBudget(limit=10, network_limit=6)
    with uploads.reserve("192.0.2.1") as count_first, uploads.reserve("192.0.2.2") as count_other:
        count_first(6)
        count_other(4)
        with pytest.raises(TooManyRequests), uploads.reserve("192.0.2.3") as count_third:
            count_third(1)


def test_finished_requests_free_their_share() -> None:
    """A request frees its share when it ends, also after a refusal, so later requests of its network are accepted."""
    uploads = UploadBudget(limit=10, network_limit=10)
    for _ in range(3):
        with uploads.reserve("2001:db8::1") as count_first:
            count_first(10)
            with pytest.raises(TooManyRequests):
                count_first(1)
    # This address has the same network of 64 bits.
    with uploads.reserve("2001:db8::2") as count_first:
        count_first(10)

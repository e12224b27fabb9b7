"""The upload budget: bounds on unauthenticated bodies, for all together and for each network."""

import pytest

from dashwright.api.http.upload_budget import UploadBudget
from dashwright.common.errors import TooManyRequests


def test_one_network_is_limited_to_its_share() -> None:
    """Several requests of a network share its limit; another network has room."""
    uploads = UploadBudget(10, 6)
    with uploads.reserve("192.0.2.1") as keep, uploads.reserve("192.0.2.1") as keep_more, uploads.reserve("192.0.2.2") as keep_other:
        keep(4)
        keep_more(2)
        with pytest.raises(TooManyRequests):
            keep_more(1)
        keep_other(4)


def test_the_total_is_limited() -> None:
    """Above the total, requests of every network are rejected."""
    uploads = UploadBudget(10, 6)
    with uploads.reserve("192.0.2.1") as keep, uploads.reserve("192.0.2.2") as keep_other:
        keep(6)
        keep_other(4)
        with pytest.raises(TooManyRequests), uploads.reserve("192.0.2.3") as keep_third:
            keep_third(1)


def test_finished_requests_free_their_share() -> None:
    """Rejected and failed requests free their share too."""
    uploads = UploadBudget(10, 10)
    for _ in range(3):
        with uploads.reserve("2001:db8::1") as keep:
            keep(10)
            with pytest.raises(TooManyRequests):
                keep(1)
    with uploads.reserve("2001:db8::2") as keep:
        keep(10)

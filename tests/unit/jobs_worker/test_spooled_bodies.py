"""Bodies in the spool."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.jobs_worker.adapters.spool import FileSpool


@given(st.lists(st.binary(max_size=50)))
def test_every_body_is_returned_by_its_ticket(bodies: list[bytes]) -> None:
    """Every body is returned by its ticket, in any order, from memory or from disk."""
    with FileSpool(max_memory_bytes=100) as spool:
        tickets = {spool.put(body): body for body in bodies}
        assert len(tickets) == len(bodies)
        for ticket in sorted(tickets, reverse=True):
            assert spool.get(ticket) == tickets[ticket]
            # A body can be read again.
            assert spool.get(ticket) == tickets[ticket]
        # A body can be stored after others were read.
        last = spool.put(b"last")
        assert spool.get(last) == b"last"


def test_the_file_is_deleted_after_use() -> None:
    """The file of a spool is deleted when the spool is closed."""
    with FileSpool() as spool:
        ticket = spool.put(b"body")
    with pytest.raises(ValueError, match="closed file"):
        spool.get(ticket)

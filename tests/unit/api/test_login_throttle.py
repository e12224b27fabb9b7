"""The login throttle: refused clients, addresses and times, and the clients that it must not refuse."""

from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.auth.login_throttle import LoginThrottle


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def fail(throttle: LoginThrottle, login: str, address: str, times: int = 1) -> None:
    for _ in range(times):
        throttle.failed(login, address)


def test_a_login_is_refused_where_it_failed_too_often_and_nowhere_else() -> None:
    """In any case of letters. Its owner at another address is let in, and so is another login from there."""
    throttle = LoginThrottle(5)
    fail(throttle, "Ann", "10.0.0.1", 4)
    assert not throttle.refuses("ann", "10.0.0.1")
    fail(throttle, "ANN", "10.0.0.1")
    assert throttle.refuses("ann", "10.0.0.1")
    assert not throttle.refuses("ann", "10.0.0.2")
    assert not throttle.refuses("bob", "10.0.0.1")


def test_the_window_begins_with_the_first_failure() -> None:
    """Failures that go on do not lengthen it."""
    time = Time()
    throttle = LoginThrottle(2, 300, monotonic=time)
    fail(throttle, "ann", "a")
    time.now = 299
    fail(throttle, "ann", "a", 5)
    assert throttle.refuses("ann", "a")
    time.now = 300
    assert not throttle.refuses("ann", "a")
    assert not throttle.suspects("a")


def test_an_address_that_tries_many_logins_is_refused_for_all() -> None:
    """The limit of an address is ten times that of a login; the next address is not affected."""
    throttle = LoginThrottle(5)
    for number in range(49):
        fail(throttle, f"u{number}", "10.0.0.1")
    assert not throttle.refuses("ann", "10.0.0.1")
    fail(throttle, "u49", "10.0.0.1")
    assert throttle.refuses("ann", "10.0.0.1")
    assert throttle.refuses_address("10.0.0.1")
    assert not throttle.refuses("ann", "10.0.0.2")


def test_a_success_clears_its_own_count_only() -> None:
    """A client with one valid login cannot clear the failures of its guesses."""
    throttle = LoginThrottle(2)
    for login in ("ann", "bob"):
        fail(throttle, login, "a", 2)
    throttle.succeeded("bob", "a")
    assert not throttle.refuses("bob", "a")
    assert throttle.refuses("ann", "a")
    assert throttle.suspects("a")


def test_an_unknown_address_counts_by_login_only() -> None:
    """All callers behind a queue, or a proxy without client addresses, have the same address, so it has no limit."""
    throttle = LoginThrottle(2)
    for number in range(100):
        fail(throttle, f"u{number}", "")
    assert not throttle.refuses("ann", "")
    assert not throttle.refuses_address("")
    fail(throttle, "ann", "", 2)
    assert throttle.refuses("ann", "")


def test_an_ipv6_client_is_its_network() -> None:
    """A client has 2⁶⁴ addresses to itself; an IPv4 address in IPv6 clothes is that one address."""
    throttle = LoginThrottle(1)
    fail(throttle, "ann", "2001:db8::1")
    assert throttle.refuses("ann", "2001:db8::ffff:0:1%eth0")
    assert not throttle.refuses("ann", "2001:db8:0:1::1")
    fail(throttle, "bob", "::ffff:10.0.0.1")
    assert throttle.refuses("bob", "10.0.0.1")
    assert not throttle.refuses("bob", "::ffff:10.0.0.2")
    fail(throttle, "cat", "no:address")
    assert throttle.refuses("cat", "no:address")


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 3)), max_size=60))
def test_counts_are_bounded_and_never_too_high(steps: list[tuple[str, int]]) -> None:
    """Compared with a plain list of failures, no client is refused too early, and no more counts are kept than the bound."""
    time = Time()
    throttle = LoginThrottle(3, 10, size=3, monotonic=time)
    failures: list[tuple[str, float]] = []
    for login, wait in steps:
        time.now += wait
        throttle.failed(login, "a")
        failures.append((login, time.now))
        assert len(throttle._by_pair._windows) <= 3
        recent = [when for who, when in failures if who == login and when > time.now - 10]
        assert not throttle.refuses(login, "a") or len(recent) >= 3 or throttle.refuses_address("a")

"""Virtual time in tests marked ``looptime``.

The pytest plugin of ``looptime`` is not loaded, because it slows down every test: it patches each event loop, which then polls twice
in each round, and it searches all names of pytest-asyncio at each fixture.
"""

import asyncio
from collections.abc import Generator

import looptime
import pytest

#: The patched event loop of a marked test.
_loop = pytest.StashKey[looptime.LoopTimeEventLoop]()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(request: pytest.FixtureRequest) -> Generator[None, object, object]:
    """Patch the event loop of a marked test. Its time remains real while other fixtures are set up."""
    value = yield
    if isinstance(value, asyncio.Runner) and request.node.get_closest_marker("looptime") is not None:
        loop = value.get_loop()
        assert isinstance(loop, asyncio.BaseEventLoop)
        request.node.stash[_loop] = looptime.patch_event_loop(loop, _enabled=False)
    return value


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Run a marked test in virtual time, with the options of the mark."""
    mark = pyfuncitem.get_closest_marker("looptime")
    if mark is None:
        return (yield)
    loop = pyfuncitem.stash[_loop]
    loop.setup_looptime(**mark.kwargs)
    with loop.looptime_enabled():
        return (yield)

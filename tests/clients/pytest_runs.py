"""Runs of pytest in a client's own environment."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

#: Time after which the run of a group is killed.
_GROUP_SECONDS = 900.0
_TEST_SECONDS = 300
#: Beginnings of the environment variables that must not influence the clients.
_FOREIGN_VARIABLES = ("DASHWRIGHT_", "GRAFANA_", "PYTEST_", "KUBECONFIG", "KUBECTL_")


def case_options(cases: Path) -> list[str]:
    """Return the options of pytest for cases of this project, which use neither its settings nor its fixtures."""
    ini = ("asyncio_default_fixture_loop_scope=function", "asyncio_mode=auto")
    options = [
        "--noconftest",
        "--import-mode=importlib",
        f"--rootdir={cases}",
        "-c",
        "/dev/null",
        "-W",
        "ignore::pytest.PytestConfigWarning",
    ]
    return [*options, *(phrase for setting in ini for phrase in ("-o", setting))]


async def run(
    python: Path, tests: Path, chosen: Sequence[str], options: Sequence[str], environment: Mapping[str, str], report: Path
) -> str:
    """Run the ``chosen`` tests of the folder ``tests`` and return what pytest printed; write JUnit XML to ``report``."""
    own_environment = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN_VARIABLES)}
    default_options = ["-p", "no:cacheprovider", "-o", "addopts=", "-o", "log_cli=false", "-o", "junit_family=xunit1"]
    reporting = ["--quiet", "--tb=short", f"--timeout={_TEST_SECONDS}", f"--junitxml={report}"]
    process = await asyncio.create_subprocess_exec(
        *(str(python), "-m", "pytest", *default_options, *reporting, *options, *chosen),
        cwd=tests,
        env={**own_environment, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(_GROUP_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"{' '.join(chosen)} took longer than {_GROUP_SECONDS:g} s and was killed"
    return output.decode(errors="replace")

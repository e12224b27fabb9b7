"""Properties of the compose file and the Dockerfiles, checked in their text without Docker."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ryaml

from dashwright.common.settings import PREFIX, Settings

ROOT = Path(__file__).parents[3]
DOCKERFILES = sorted(ROOT.glob("services/*/Dockerfile"))
SETTING_NAMES = {PREFIX + name.upper() for name in Settings.model_fields}
#: Servers whose images prepare their files before the start, and need a writable root file system.
WRITABLE_ROOT = {"postgres", "rabbitmq"}


def _resolve_merge_keys(node: Any) -> Any:
    """Return ``node`` with YAML's merge keys (``<<``) resolved, which the parser does not do."""
    if isinstance(node, list):
        return [_resolve_merge_keys(item) for item in node]
    if not isinstance(node, dict):
        return node
    sources = node.get("<<", [])
    result: dict[str, Any] = {}
    # Members of earlier sources have precedence.
    for source in reversed(sources if isinstance(sources, list) else [sources]):
        result |= _resolve_merge_keys(source)
    return result | {key: _resolve_merge_keys(value) for key, value in node.items() if key != "<<"}


STACK = _resolve_merge_keys(ryaml.loads((ROOT / "docker-compose.yml").read_text(encoding="utf-8")))  # type: ignore[attr-defined]  # its stub re-exports nothing
SERVICES: dict[str, dict[str, Any]] = STACK["services"]
each_service = pytest.mark.parametrize("name", sorted(SERVICES))
each_dockerfile = pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.parent.name)


def _instructions(dockerfile: Path) -> list[list[str]]:
    """Return the words of each instruction. An instruction of several lines is one."""
    text = re.sub(r"\\\n\s*", "", dockerfile.read_text(encoding="utf-8"))
    return [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _variables() -> Iterator[tuple[str, str]]:
    """Yield each file of the stack with each variable of settings in it."""
    for file in (ROOT / "docker-compose.yml", *DOCKERFILES):
        for variable in re.findall(rf"{PREFIX}[A-Z_]+", file.read_text(encoding="utf-8")):
            yield str(file.relative_to(ROOT)), variable


def test_the_stack_has_its_parts() -> None:
    """The stack consists of the three services, the preparation of the database, and the two servers."""
    assert set(SERVICES) == {"api", "jobs-worker", "expressions", "roles", "migrate", "postgres", "rabbitmq"}


def test_only_the_gateway_is_published_and_only_on_this_machine() -> None:
    """This machine can connect to the gateway only, and other machines to no part of the stack."""
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert set(published) == {"api"}
    assert all(port.startswith("127.0.0.1:") for port in published["api"])
    assert not any("network_mode" in service for service in SERVICES.values())


def test_the_servers_are_on_the_closed_network_only() -> None:
    """The servers are only on the closed network: their known development passwords are acceptable because no other machine can connect."""
    assert STACK["networks"]["inside"]["internal"] is True
    for name in ("postgres", "rabbitmq"):
        assert SERVICES[name]["networks"] == ["inside"]


@each_service
def test_every_image_is_pinned_or_built_here(name: str) -> None:
    """An image from a registry has a fixed tag; all others are built from this repository."""
    service = SERVICES[name]
    if "build" in service:
        assert (ROOT / service["build"]["dockerfile"]) in DOCKERFILES
        return
    _, _, tag = service["image"].partition(":")
    assert tag[:1].isdigit(), f"{service['image']} has no version"


@each_service
def test_every_service_reports_its_health_or_ends(name: str) -> None:
    """A service has a health check with a time-out; a container without one runs once and is not restarted."""
    service = SERVICES[name]
    if name in ("roles", "migrate"):
        assert service["restart"] == "no"
        return
    assert service["restart"] == "unless-stopped"
    assert {"test", "interval", "timeout", "retries", "start_period"} <= set(service["healthcheck"])


@each_service
def test_every_service_waits_for_its_dependencies(name: str) -> None:
    """Services wait for the health or completion of their dependencies, never for a mere start."""
    dependencies = SERVICES[name].get("depends_on", {})
    # Without a condition, Docker waits for the start only.
    assert {dependency["condition"] for dependency in dependencies.values()} <= {"service_healthy", "service_completed_successfully"}
    environment = SERVICES[name].get("environment", {})
    expected = {"DASHWRIGHT_DATABASE_URL": "postgres", "DASHWRIGHT_AMQP_URL": "rabbitmq"}
    # A service that waits for a one-time service also waits for the dependencies of the one-time service.
    awaited = {*dependencies, *(indirect for dependency in dependencies for indirect in SERVICES[dependency].get("depends_on", {}))}
    assert {server for variable, server in expected.items() if variable in environment} <= awaited


@each_service
def test_every_container_has_few_rights(name: str) -> None:
    """Every container has no capabilities except those of a server image, no new privileges, and a read-only root file system."""
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service.get("read_only", False) or name in WRITABLE_ROOT
    assert "privileged" not in service
    if "build" in service:
        assert "cap_add" not in service
        assert "user" not in service, "the image names the user"


@each_service
def test_every_container_is_bounded(name: str) -> None:
    """The memory, the processes and the logs of every container are limited."""
    service = SERVICES[name]
    assert {"memory", "pids"} <= set(service["deploy"]["resources"]["limits"])
    assert {"max-size", "max-file"} <= set(service["logging"]["options"])


@pytest.mark.parametrize("name", ["api", "jobs-worker", "expressions"])
def test_any_number_of_a_service_can_run(name: str) -> None:
    """A service has no fixed name, and the file for several gateways removes the port, which only one container could have."""
    assert not {"container_name", "hostname"} & set(SERVICES[name])
    file_for_several_gateways = (ROOT / "deploy/haproxy/docker-compose.yml").read_text(encoding="utf-8")
    removal = f"  {name}:\n    # A port of the machine can belong to one container only.\n    ports: !reset []"
    assert "ports" not in SERVICES[name] or removal in file_for_several_gateways


@pytest.mark.parametrize("name", ["api", "jobs-worker", "expressions"])
def test_the_services_have_time_to_finish(name: str) -> None:
    """Docker kills a service only after its own shutdown time, and a gateway also after it has drained."""
    seconds = int(SERVICES[name]["stop_grace_period"].removesuffix("s"))
    # The default in a reference like ${DASHWRIGHT_DRAIN_SECONDS:-3}. Only the gateway has the setting.
    drain = SERVICES[name]["environment"].get("DASHWRIGHT_DRAIN_SECONDS", "0").partition(":-")[2].rstrip("}")
    assert seconds > Settings.model_fields["shutdown_seconds"].default + float(drain or 0)


def test_a_stopping_gateway_drains_for_longer_than_the_proxy_needs() -> None:
    """A stopping gateway serves until the proxy notices: the proxy checks readiness every second, and one failed check is enough."""
    configuration = (ROOT / "deploy/haproxy/haproxy.cfg").read_text(encoding="utf-8")
    assert "inter 1s fall 1" in configuration
    assert SERVICES["api"]["environment"]["DASHWRIGHT_DRAIN_SECONDS"] == "${DASHWRIGHT_DRAIN_SECONDS:-3}"


def test_every_variable_is_a_setting() -> None:
    """Every variable of the stack is a setting, because a misspelt one would be ignored silently."""
    variables = list(_variables())
    assert len(variables) > 10
    assert [(file, variable) for file, variable in variables if variable not in SETTING_NAMES] == []


def test_no_credential_but_the_documented_defaults() -> None:
    """Each password can be set from outside, and its default is documented."""
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    # The values of members such as PASSWORD, and the passwords in URLs.
    passwords = re.findall(r"(?:(?<!ALLOW_DEFAULT_)PASS(?:WORD)?: |://\w+:)(\S+?)(?:@|$)", text, re.MULTILINE)
    assert passwords
    for variable in passwords:
        assert re.fullmatch(r"\$\{(DASHWRIGHT_ADMIN_PASSWORD:-admin|(POSTGRES|RABBITMQ)_\w*PASSWORD:-dashwright)\}", variable), variable


@pytest.mark.parametrize("name", ["api", "jobs-worker", "expressions"])
def test_services_that_open_stored_secrets_have_the_key(name: str) -> None:
    """Services that open stored secrets read the key from the volume that ``migrate`` writes once, and cannot change it."""
    assert SERVICES[name]["environment"]["DASHWRIGHT_SECRETS_DIR"] == "/secrets"
    assert "secrets:/secrets:ro" in SERVICES[name]["volumes"]
    assert SERVICES["migrate"]["volumes"] == ["secrets:/secrets"]


@each_dockerfile
def test_every_image_runs_as_an_unprivileged_user(dockerfile: Path) -> None:
    """The last user is 10001, as a number, so that an orchestrator can see that it is not root."""
    users = [words[1] for words in _instructions(dockerfile) if words[0] == "USER"]
    assert users == ["10001:10001"]


@each_dockerfile
def test_every_image_is_built_in_two_stages_from_one_base(dockerfile: Path) -> None:
    """The final image has no build tools: only the virtual environment of the first stage is copied."""
    instructions = _instructions(dockerfile)
    assert [words[1] for words in instructions if words[0] == "FROM"] == ["python:3.13-slim"] * 2
    assert [words[1:] for words in instructions if "--from=build" in words] == [["--from=build", "/venv", "/venv"]]


@each_dockerfile
def test_dependencies_are_locked_and_installed_before_the_code(dockerfile: Path) -> None:
    """Every external package has a hash. These packages are in a layer of their own, which a change of the project's code keeps."""
    lines = [" ".join(words) for words in _instructions(dockerfile)]
    locked = next(n for n, line in enumerate(lines) if f"--require-hashes --requirement requirements/{dockerfile.parent.name}.txt" in line)
    code = next(n for n, line in enumerate(lines) if line.startswith("COPY libs/"))
    line_of_own_code = next(n for n, line in enumerate(lines) if "--no-deps --no-build-isolation" in line)
    assert locked < code < line_of_own_code


def test_only_the_jobs_worker_has_git() -> None:
    """Only the image of the jobs worker installs packages of Debian, for git. Programs that no service runs would need patches, too."""
    with_packages = [path.parent.name for path in DOCKERFILES if "apt-get" in path.read_text(encoding="utf-8")]
    assert with_packages == ["jobs-worker"]


def test_the_build_context_is_empty_by_default() -> None:
    """The build context is empty by default, so that secrets, data and history of a working copy never reach a build."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    assert {rule for rule in rules if rule.startswith("!")} == {"!libs", "!services", "!requirements"}

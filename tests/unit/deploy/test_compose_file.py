"""The compose file follows from the documents and the code, so that no setting or account is forgotten."""

import re

import yaml
from deploy import definitions, settings

from dashwright.common.settings import PREFIX, Settings


def test_every_documented_setting_reaches_the_services_that_read_it() -> None:
    """The compose file, which ``make docs`` writes, passes each setting to its services, or fixes the value."""
    text = settings.COMPOSE.read_text(encoding="utf-8")
    assert text == settings.compose(text)
    services = yaml.safe_load(text)["services"]
    for row in settings.rows():
        for service in settings.SERVICES:
            if row.is_read_by(service):
                assert f"{PREFIX}{row.name}" in services[service]["environment"], (row.name, service)
    passed_variables = {name for service in settings.SERVICES for name in services[service]["environment"]}
    fixed_variables = {PREFIX + name for name in settings.FIXED}
    assert {PREFIX + name.upper() for name in Settings.model_fields} <= passed_variables | fixed_variables


def test_the_example_names_every_variable_of_the_stack() -> None:
    """Each variable is listed with its default in a comment."""
    example = settings.EXAMPLE.read_text(encoding="utf-8")
    assert example == settings.example()
    used_variables = set(re.findall(r"\$\{([A-Z_]+):-", settings.COMPOSE.read_text(encoding="utf-8")))
    documented = set(re.findall(r"^#([A-Z_]+)=", example, re.MULTILINE))
    assert used_variables <= documented


def test_the_definitions_follow_from_the_topology() -> None:
    """The definitions of the broker follow from the topology: the file is the output of ``make docs``."""
    assert definitions.FILE.read_text(encoding="utf-8") == definitions.text()


def test_the_broker_gets_every_password_of_the_definitions() -> None:
    """The start script of the broker inserts each password, which the compose file passes in the environment."""
    start = (definitions.FILE.parent / "start").read_text(encoding="utf-8")
    broker = yaml.safe_load(settings.COMPOSE.read_text(encoding="utf-8"))["services"]["rabbitmq"]
    for name in set(re.findall(r"\$\{(RABBITMQ_[A-Z_]+)\}", definitions.text())):
        assert name.removeprefix("RABBITMQ_") in start
        assert name in broker["environment"]

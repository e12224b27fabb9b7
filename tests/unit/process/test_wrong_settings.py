"""Services end with an error if a setting is wrong.

They run in the process of the tests, because the start of a program takes a second.
"""

import os
from types import ModuleType

import pytest

from dashwright.api import main as api
from dashwright.expressions import main as expressions
from dashwright.jobs_worker import main as jobs_worker

#: An address to which no service listens.
CLOSED_PORT = "127.0.0.1:9"
VALID_SETTINGS = {
    "DATABASE_URL": f"postgresql://u:p@{CLOSED_PORT}/d",
    "AMQP_URL": f"amqp://u:p@{CLOSED_PORT}/",
    "SECRET_KEY": "of tests only",
}


@pytest.mark.parametrize(
    ("service", "name", "value"),
    [
        # The default password is refused beyond loopback.
        (api, "HTTP_HOST", "0.0.0.0"),
        (api, "TLS_CERT", "/nowhere.pem"),
        (api, "DATABASE_URL", ""),
        (api, "SECRET_KEY", ""),
        (jobs_worker, "DATABASE_URL", ""),
        (jobs_worker, "SECRET_KEY", ""),
        (expressions, "SECRETS_DIR", "/nowhere/at/all"),
    ],
)
def test_a_wrong_setting_is_named_in_a_sentence(
    service: ModuleType, name: str, value: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A service ends with status 2, after a single line that begins with the name of the service and names the setting."""
    # The service does not change the logging of the tests.
    monkeypatch.setattr("dashwright.common.observability.logging.configure", lambda *_arguments, **_options: None)
    for variable in list(os.environ):
        if variable.startswith("DASHWRIGHT_"):
            monkeypatch.delenv(variable)
    for variable, setting in {**VALID_SETTINGS, name: value}.items():
        monkeypatch.setenv(f"DASHWRIGHT_{variable}", setting)
    with pytest.raises(SystemExit) as program_exit:
        service.main()
    assert program_exit.value.code == 2
    output, errors = capfd.readouterr()
    (line,) = errors.splitlines()
    assert not output
    assert line.startswith(f"{service.SERVICE}: ")
    assert f"DASHWRIGHT_{name}" in line

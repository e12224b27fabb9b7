"""Declaration of the settings of SSH connections to git hosts."""

from pathlib import Path

from pydantic_settings import BaseSettings

from dashwright.common.setting_field import setting


class SshSettingsFields(BaseSettings):
    """Settings of SSH connections to git hosts."""

    ssh_known_hosts: Path | None = setting(
        None,
        "file of the host keys, in the form of OpenSSH's `known_hosts`, that are accepted for the SSH addresses of all repositories, in "
        "addition to those of each repository. A host with any other key is refused",
        "jobs-worker",
        displayed_default="none",
    )

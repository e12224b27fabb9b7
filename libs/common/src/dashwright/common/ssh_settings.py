"""Declaration of the settings of SSH connections to git hosts."""

from pathlib import Path

from pydantic_settings import BaseSettings

from dashwright.common.setting_field import setting


class SshSettingsFields(BaseSettings):
    """Settings of SSH connections to git hosts."""

    ssh_known_hosts: Path | None = setting(
        None,
        "file in the format of OpenSSH's `known_hosts` with host keys that all repositories accept, in addition to the keys in their own "
        "`knownHosts`. A host with any other key is refused",
        "jobs-worker",
        displayed_default="none",
    )

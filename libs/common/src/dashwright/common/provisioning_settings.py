"""Declaration of the settings of repositories that are declared in files."""

from pathlib import Path

from pydantic import field_validator
from pydantic_settings import BaseSettings

from dashwright.common.setting_field import Seconds, setting


class ProvisioningSettingsFields(BaseSettings):
    """Settings of repositories that are declared in files."""

    provisioning_dir: Path | None = setting(
        None,
        "directory with files that declare repositories; the gateway creates, updates and deletes the repositories accordingly "
        "([repositories declared in files](repositories.md#repositories-declared-in-files)). Give all gateways the same files",
        "api",
    )
    provisioning_seconds: Seconds = setting(10, "seconds between two reads of `PROVISIONING_DIR`", "api")

    @field_validator("provisioning_dir", mode="before")
    @classmethod
    def _read_empty_as_none(cls, value: object) -> object:
        return None if value == "" else value

"""Declaration of the settings of the storage for results of batches."""

from pydantic import SecretStr
from pydantic_settings import BaseSettings

from dashwright.common.setting_field import setting


class ResultSettingsFields(BaseSettings):
    """Settings of the storage for results of batches."""

    results_url: str = setting(
        "",
        "where the results of batches are stored: a folder, or `s3://bucket/prefix` of S3 or a compatible server. Give api and "
        "jobs-worker the same value; a folder must be the same one for all of them "
        "([results of batches](../how-to/operations.md#results-of-batches))",
        "api, jobs-worker",
        displayed_default="`DATA_DIR/batches`",
    )
    results_endpoint: str = setting(
        "",
        "address of a server that is compatible with S3, such as `https://storage.example.com`; `http` is permitted on this machine, and "
        "for hosts in `ALLOWED_HOSTS`",
        "api, jobs-worker",
        displayed_default="that of AWS",
    )
    results_region: str = setting("us-east-1", "region of the bucket in `RESULTS_URL`", "api, jobs-worker", min_length=1)
    results_access_key: SecretStr | None = setting(
        None, "access key id for `RESULTS_URL`; without one, the credentials are those that AWS gives to the machine", "api, jobs-worker"
    )
    results_secret_key: SecretStr | None = setting(None, "secret access key that belongs to `RESULTS_ACCESS_KEY`", "api, jobs-worker")

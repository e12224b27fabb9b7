"""Users and teams of an organization: ``iam.grafana.app/v0alpha1``. They are read here, and changed by the classic API."""

from pydantic import Field

from dashwright.common.models.api_model import ApiModel


class UserSpec(ApiModel):
    """User as a member of the organization."""

    login: str = Field(description="The login")
    email: str = Field(description="The e-mail address")
    title: str = Field(description="The full name")
    role: str = Field(description="The role in the organization")
    grafana_admin: bool = Field(description="Whether the user is a server admin")
    disabled: bool = Field(description="Whether the user is disabled, and cannot log in")
    email_verified: bool = Field(default=False, description="Always false: e-mail addresses are not verified")
    provisioned: bool = Field(default=False, description="Always false: users are not provisioned")


class UserStatus(ApiModel):
    """Use of an account."""

    last_seen_at: int = Field(description="The time of the last request in Unix seconds; 0: never")


class TeamSpec(ApiModel):
    """Team."""

    title: str = Field(description="The name")
    email: str = Field(description="The e-mail address; may be empty")
    external_uid: str = Field(default="", alias="externalUID", description="Always empty: teams are not synchronized")
    provisioned: bool = Field(default=False, description="Always false: teams are not provisioned")

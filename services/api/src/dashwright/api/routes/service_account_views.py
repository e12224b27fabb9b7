"""Service accounts as response models, and the account that a path names."""

from dashwright.api.domain import times
from dashwright.api.domain.access.metadata import ScopedType, access_control
from dashwright.api.domain.urls import avatar_url
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.models import service_accounts as models
from dashwright.api.stores import service_accounts
from dashwright.api.stores.service_accounts import StoredServiceAccount
from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest
from dashwright.common.identity import Identity


async def account_id_of(connection: Connection, call: Call, action: str, *, error_message: str = "Service Account ID is invalid") -> int:
    """Return the id of the service account that the path parameter ``id`` names by id or uid. An id is returned even if it is unknown.

    Raises Forbidden unless the caller may do ``action`` on it, then BadRequest with ``error_message`` for an unknown uid.
    """
    reference = call.parameters["id"]
    account_id = parse_integer(reference)
    if account_id is None:
        account_id = await service_accounts.id_of(connection, call.identity.org_id, reference)
    # 0 is the id of no account. A caller without rights on all accounts thus receives 403 for an unknown uid as for an existing one.
    call.require(action, f"{ScopedType.SERVICE_ACCOUNT.prefix}{account_id or 0}")
    if account_id is None:
        raise BadRequest(error_message)
    return account_id


def item_view(account: StoredServiceAccount, caller: Identity | None = None) -> models.ServiceAccount:
    """Return the response model of a list item. With ``caller``, it includes the caller's permissions."""
    model = models.ServiceAccount(
        id=account.id,
        uid=account.uid,
        name=account.name,
        login=account.login,
        org_id=account.org_id,
        is_disabled=account.is_disabled,
        role=account.role.value,
        tokens=account.token_count,
        avatar_url=avatar_url(account.email, account.name),
    )
    permissions = _permissions(account, caller)
    # An empty mapping is not set, because only fields that were not set are left out of the JSON.
    return model.model_copy(update={"access_control": permissions}) if permissions else model


def profile_view(account: StoredServiceAccount, caller: Identity | None = None) -> models.ServiceAccountProfile:
    """Return the response model of an account. With ``caller``, it includes the caller's permissions."""
    model = models.ServiceAccountProfile(
        id=account.id,
        uid=account.uid,
        name=account.name,
        login=account.login,
        org_id=account.org_id,
        is_disabled=account.is_disabled,
        created_at=times.format_time(account.created),
        updated_at=times.format_time(account.updated),
        avatar_url=avatar_url(account.email, account.name),
        role=account.role.value,
        teams=None,
    )
    permissions = _permissions(account, caller)
    optional_fields: dict[str, object] = {}
    if account.token_count:
        optional_fields["tokens"] = account.token_count
    if permissions:
        optional_fields["access_control"] = permissions
    return model.model_copy(update=optional_fields)


def _permissions(account: StoredServiceAccount, caller: Identity | None) -> dict[str, bool] | None:
    return None if caller is None else access_control(caller, ScopedType.SERVICE_ACCOUNT, account.id)

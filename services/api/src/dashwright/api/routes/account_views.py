"""Organizations, members and users as response models."""

from datetime import datetime

from dashwright.api.domain import times
from dashwright.api.domain.access.metadata import Subject, access_control
from dashwright.api.domain.times import age, last_seen
from dashwright.api.domain.urls import avatar_url
from dashwright.api.models.organizations import AddressShape, MemberFound, MemberShape, MembershipShape, OrganizationShape
from dashwright.api.models.users import ProfileShape, UserItem
from dashwright.api.stores.members import Member, Membership
from dashwright.api.stores.orgs import Organization
from dashwright.api.stores.persons import Person
from dashwright.common.identity import Identity


def organization_view(found: Organization) -> OrganizationShape:
    """Return the response model of an organization."""
    address = found.address
    shown = AddressShape(
        address1=address.address1,
        address2=address.address2,
        city=address.city,
        zip_code=address.zip_code,
        state=address.state,
        country=address.country,
    )
    return OrganizationShape(id=found.id, name=found.name, address=shown)


def membership_view(found: Membership) -> MembershipShape:
    """Return the response model of a user's membership."""
    return MembershipShape(org_id=found.org_id, name=found.name, role=found.role.value)


def member_view(found: Member, now: datetime, caller: Identity | None) -> MemberShape:
    """Return the response model of a member. With ``caller``, it includes the caller's permissions on the member."""
    seen = last_seen(found.last_seen_at, found.created)
    return MemberShape(
        org_id=found.org_id,
        user_id=found.user_id,
        uid=found.uid,
        email=found.email,
        name=found.name,
        avatar_url=avatar_url(found.email, found.name),
        login=found.login,
        role=found.role.value,
        last_seen_at=times.format_time(seen),
        last_seen_at_age=age(seen, now),
        created=times.format_time(found.created),
        is_disabled=found.is_disabled,
        access_control=None if caller is None else access_control(caller, Subject.MEMBER, found.user_id),
    )


def member_found_view(found: Member) -> MemberFound:
    """Return the response model of a member in a lookup."""
    return MemberFound(user_id=found.user_id, uid=found.uid, login=found.login, avatar_url=avatar_url(found.email, found.name))


def profile_view(found: Person, *, org_id: int | None = None, caller: Identity | None = None) -> ProfileShape:
    """Return the response model of a user.

    ``org_id`` replaces the user's current organization by that of the request. With ``caller``, it includes the
    caller's permissions on the user.
    """
    return ProfileShape(
        id=found.id,
        uid=found.uid,
        email=found.email,
        name=found.name,
        login=found.login,
        theme=found.theme,
        org_id=org_id or found.org_id,
        is_grafana_admin=found.is_admin,
        is_disabled=found.is_disabled,
        updated_at=times.format_time(found.updated),
        created_at=times.format_time(found.created),
        avatar_url=avatar_url(found.email, found.name),
        access_control=None if caller is None else access_control(caller, Subject.USER, found.id),
    )


def user_item_view(found: Person, now: datetime) -> UserItem:
    """Return the response model of a user in a list."""
    seen = last_seen(found.last_seen_at, found.created)
    return UserItem(
        id=found.id,
        uid=found.uid,
        name=found.name,
        login=found.login,
        email=found.email,
        avatar_url=avatar_url(found.email, found.name),
        is_admin=found.is_admin,
        is_disabled=found.is_disabled,
        last_seen_at=times.format_time(seen),
        last_seen_at_age=age(seen, now),
        created=times.format_time(found.created),
    )

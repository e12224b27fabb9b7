-- fragment: matches
-- Holds for a service account u that matches a search. A filter that is null or empty is not applied.
u.is_service_account and u.org_id = :org_id
  and (:containing = '' or strpos(lower(u.name), lower(:containing)) > 0 or strpos(lower(u.login), lower(:containing)) > 0
       or strpos(lower(u.email), lower(:containing)) > 0)
  and (not :only_disabled::boolean or u.is_disabled)
  and (:expired_at::bigint is null or exists (select from api_key k where k.service_account_id = u.id and k.expires <= :expired_at))
  and (:ids::bigint[] is null or u.id = any(:ids))

-- name: search
-- A page of matching service accounts.
select u.id, u.uid, u.name, u.login, u.email, u.org_id, u.is_disabled, u.created, u.updated, m.role,
  (select count(*) from api_key k where k.service_account_id = u.id) as tokens
from "user" u join org_user m on m.user_id = u.id and m.org_id = u.org_id
where {matches}
order by lower(u.email), lower(u.login), u.id
limit :limit offset :offset

-- name: count
-- The number of matching service accounts on all pages.
select count(*)
from "user" u join org_user m on m.user_id = u.id and m.org_id = u.org_id
where {matches}

-- name: find
-- One service account of an organization.
select u.id, u.uid, u.name, u.login, u.email, u.org_id, u.is_disabled, u.created, u.updated, m.role,
  (select count(*) from api_key k where k.service_account_id = u.id) as tokens
from "user" u join org_user m on m.user_id = u.id and m.org_id = u.org_id
where u.is_service_account and u.org_id = $1 and u.id = $2;

-- name: lock_role
-- The role of a service account, which cannot be deleted until the transaction ends.
select m.role from "user" u join org_user m on m.user_id = u.id and m.org_id = u.org_id
where u.is_service_account and u.org_id = $1 and u.id = $2
for key share of u;

-- name: id_of
-- The id of the service account with a uid.
select id from "user" where is_service_account and org_id = $1 and uid = $2;

-- name: lock_names
-- Allows one assignment of service account names in an organization at a time; the lock ends with the transaction.
select pg_advisory_xact_lock(3, hashtext('org/' || $1::bigint || '/service_account'));

-- name: is_name_taken
-- Whether another service account of the organization has the name, ignoring letter case and treating blanks as dashes.
select exists (
  select from "user"
  where is_service_account and org_id = $1 and replace(lower(name), ' ', '-') = replace(lower($2), ' ', '-') and id <> $3
);

-- name: insert_skipping_taken
-- Inserts service accounts whose login is not in use: logins ($2), names ($3); $4: all are disabled. The login is also stored as e-mail.
-- The uid begins with a letter, so that it cannot be mistaken for a number where both are accepted.
insert into "user" (login, email, name, uid, org_id, is_service_account, is_disabled)
select new_account.login, new_account.login, new_account.name, 's' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 13), $1, true, $4
from unnest($2::text[], $3::text[]) with ordinality as new_account (login, name, position)
order by new_account.position
on conflict do nothing
returning id, login;

-- name: insert_roles
-- The memberships of new service accounts ($2) with their roles ($3).
insert into org_user (org_id, user_id, role)
select $1, membership.user_id, membership.role from unnest($2::bigint[], $3::text[]) as membership (user_id, role);

-- name: login_of
-- The login of a service account by its name in an organization.
select 'sa-' || $1::bigint || '-' || replace(lower($2::text), ' ', '-');

-- name: change
-- Null keeps a column.
update "user" set name = coalesce($3, name), is_disabled = coalesce($4, is_disabled), updated = now()
where is_service_account and org_id = $1 and id = $2;

-- name: change_role
update org_user set role = $3, updated = now() where org_id = $1 and user_id = $2 and role <> $3;

-- name: delete
-- Returns the name of the account that was deleted with its tokens, memberships and grants; no row if it does not exist.
delete from "user" where is_service_account and org_id = $1 and id = $2 returning name;

-- name: list_legacy
-- Keys of an organization that belong to no service account, by name. $2: the earliest expiry to return, null: any;
-- $3: the only keys to return, null: all.
select id, name, role, expires, last_used_at from api_key
where org_id = $1 and service_account_id is null
  and ($2::bigint is null or expires is null or expires >= $2)
  and ($3::bigint[] is null or id = any($3))
order by name collate "C", id;

-- name: delete_legacy
-- Returns the name of the deleted key; no row if the organization has no such key, or it is a service account's token.
delete from api_key where id = $1 and org_id = $2 and service_account_id is null returning name;

-- name: list_tokens
-- The tokens of a service account, by name; no rows for an unknown account.
select id, name, created, last_used_at, expires, is_revoked from api_key
where org_id = $1 and service_account_id = $2
order by name collate "C", id;

-- name: insert_token
-- Returns no row if the name is taken in the organization. Waits for a concurrent insert of the same name.
insert into api_key (org_id, name, key, role, expires, service_account_id, created_by)
values (:org_id, :name, :secret_hash, :role, :expires, :account_id, :created_by)
on conflict (org_id, name) do nothing
returning id

-- name: delete_token
-- Returns the name of the deleted token; no row if the account has no such token.
delete from api_key where id = $1 and org_id = $2 and service_account_id = $3 returning name;

-- name: lock_unmigrated
-- Keys of an organization that belong to no service account yet, locked; $2: only this key, null: all.
select id, name, role from api_key
where org_id = $1 and service_account_id is null and ($2::bigint is null or id = $2)
order by id
for update;

-- name: assign_to_accounts
-- Assigns keys ($1) to service accounts ($2), position by position.
update api_key k set service_account_id = assignment.account_id, updated = now()
from unnest($1::bigint[], $2::bigint[]) as assignment (key_id, account_id)
where k.id = assignment.key_id;

-- name: touch_keys
-- Writes times of last use; the newest time wins. Rows are locked in the order of their ids, so that two gateways cannot deadlock.
with newer as (
    select k.id, u.at from api_key k join unnest($1::bigint[], $2::timestamptz[]) as u (id, at) on u.id = k.id
    where k.last_used_at is null or k.last_used_at < u.at
    order by k.id for no key update of k
)
update api_key k set last_used_at = newer.at from newer where k.id = newer.id;

-- name: touch_users
-- Writes times when users were last seen, with the same rule and order of locks as touch_keys.
with newer as (
    select p.id, s.at from "user" p join unnest($1::bigint[], $2::timestamptz[]) as s (id, at) on s.id = p.id
    where p.last_seen_at is null or p.last_seen_at < s.at
    order by p.id for no key update of p
)
update "user" p set last_seen_at = newer.at from newer where p.id = newer.id;

-- name: lock_cleanup
-- Tries to take the lock for cleanup work until the transaction ends.
select pg_try_advisory_xact_lock(hashtext('dashwright.upkeep'));

-- name: delete_expired_tokens
-- Deletes at most $2 tokens of service accounts that expired before $1 (Unix seconds). Legacy keys are kept, so that their owners can migrate them.
delete from api_key where id in (
    select id from api_key where expires < $1 and service_account_id is not null order by id limit $2 for update skip locked
) returning id;

-- name: legacy
select id, name, role, expires, last_used_at from api_key
where org_id = $1 and service_account_id is null
  and ($2::bigint is null or expires is null or expires >= $2)
  and ($3::bigint[] is null or id = any($3))
order by name collate "C", id;

-- name: delete_legacy
delete from api_key where id = $1 and org_id = $2 and service_account_id is null returning name;

-- name: tokens
select id, name, created, last_used_at, expires, is_revoked from api_key
where org_id = $1 and service_account_id = $2
order by name collate "C", id;

-- name: insert_token
insert into api_key (org_id, name, key, role, expires, service_account_id, created_by)
values (:org_id, :name, :hashed, :role, :expires, :account_id, :created_by)
on conflict (org_id, name) do nothing
returning id

-- name: delete_token
delete from api_key where id = $1 and org_id = $2 and service_account_id = $3 returning name;

-- name: unmigrated
select id, name, role from api_key
where org_id = $1 and service_account_id is null and ($2::bigint is null or id = $2)
order by id
for update;

-- name: give_to_accounts
update api_key k set service_account_id = given.account_id, updated = now()
from unnest($1::bigint[], $2::bigint[]) as given (key_id, account_id)
where k.id = given.key_id;

-- name: touch_keys
with used as (
    select k.id, u.at from api_key k join unnest($1::bigint[], $2::timestamptz[]) as u (id, at) on u.id = k.id
    where k.last_used_at is null or k.last_used_at < u.at
    order by k.id for no key update of k
)
update api_key k set last_used_at = used.at from used where k.id = used.id;

-- name: touch_users
with seen as (
    select p.id, s.at from "user" p join unnest($1::bigint[], $2::timestamptz[]) as s (id, at) on s.id = p.id
    where p.last_seen_at is null or p.last_seen_at < s.at
    order by p.id for no key update of p
)
update "user" p set last_seen_at = seen.at from seen where p.id = seen.id;

-- name: claim_upkeep
select pg_try_advisory_xact_lock(hashtext('dashwright.upkeep'));

-- name: drop_expired_tokens
delete from api_key where id in (
    select id from api_key where expires < $1 and service_account_id is not null order by id limit $2 for update skip locked
) returning id;

-- name: legacy
-- Keys of an organization that belong to no service account, by name. $2: the least expiry to show, null for expired ones too;
-- $3: the only keys to show, null for all.
select id, name, role, expires, last_used_at from api_key
where org_id = $1 and service_account_id is null
  and ($2::bigint is null or expires is null or expires >= $2)
  and ($3::bigint[] is null or id = any($3))
order by name collate "C", id;

-- name: delete_legacy
-- The name of the key that went; no row where the organization has no such key, or it is a service account's token.
delete from api_key where id = $1 and org_id = $2 and service_account_id is null returning name;

-- name: tokens
-- The tokens of one service account, by name. An account that is not there has none.
select id, name, created, last_used_at, expires, is_revoked from api_key
where org_id = $1 and service_account_id = $2
order by name collate "C", id;

-- name: insert_token
-- No row where the organization has a key or token of that name. It waits for one that is just being made.
insert into api_key (org_id, name, key, role, expires, service_account_id, created_by)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (org_id, name) do nothing
returning id;

-- name: delete_token
-- The name of the token that went; no row where the account has no such token.
delete from api_key where id = $1 and org_id = $2 and service_account_id = $3 returning name;

-- name: unmigrated
-- Keys of an organization that belong to no service account yet, locked; $2: only that one.
select id, name, role from api_key
where org_id = $1 and service_account_id is null and ($2::bigint is null or id = $2)
order by id
for update;

-- name: give_to_accounts
-- Hands keys ($1) to service accounts ($2), position by position.
update api_key k set service_account_id = given.account_id, updated = now()
from unnest($1::bigint[], $2::bigint[]) as given (key_id, account_id)
where k.id = given.key_id;

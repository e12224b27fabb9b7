-- name: touch_keys
-- Writes when keys were last used, the newest time wins. Rows are locked in their order, so that two gateways do not wait in a circle.
with used as (
    select k.id, u.at from api_key k join unnest($1::bigint[], $2::timestamptz[]) as u (id, at) on u.id = k.id
    where k.last_used_at is null or k.last_used_at < u.at
    order by k.id for no key update of k
)
update api_key k set last_used_at = used.at from used where k.id = used.id;

-- name: touch_users
-- Writes when users were last seen, likewise.
with seen as (
    select p.id, s.at from "user" p join unnest($1::bigint[], $2::timestamptz[]) as s (id, at) on s.id = p.id
    where p.last_seen_at is null or p.last_seen_at < s.at
    order by p.id for no key update of p
)
update "user" p set last_seen_at = seen.at from seen where p.id = seen.id;

-- name: claim_upkeep
-- Whether this transaction alone does the upkeep, until it ends.
select pg_try_advisory_xact_lock(hashtext('dashwright.upkeep'));

-- name: drop_expired_tokens
-- Deletes at most $2 tokens of service accounts that expired before $1 (Unix seconds). Legacy keys stay, for their owners to hand over.
delete from api_key where id in (
    select id from api_key where expires < $1 and service_account_id is not null order by id limit $2 for update skip locked
) returning id;

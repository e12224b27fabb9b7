-- name: charge
-- Subtracts $3 requests from the rest of the $2 requests that the host $1 accepts in a minute. No row if fewer than $4 remain, or if
-- requests of the organization $5 are paused. An organization leaves an eighth of its requests of the last minute to others, so that an organization
-- with few requests always finds some. A larger share would make urgent work wait for scheduled work.
with share as (
    select taken * exp(greatest(-100, -extract(epoch from clock_timestamp() - counted_at)::float8 / 60)) as taken,
           coalesce(paused_until > clock_timestamp(), false) as is_paused
    from git_host_share where host = $1 and namespace = $5
),
counted as (
    insert into git_host as stored (host, remaining, counted_at)
    select $1, $2 - $3::float8, clock_timestamp() where not exists (select from share where is_paused)
    on conflict (host) do update
    set remaining = least($2, stored.remaining + $2 / 60 * extract(epoch from clock_timestamp() - stored.counted_at)) - $3,
        counted_at = clock_timestamp()
    where least($2, stored.remaining + $2 / 60 * extract(epoch from clock_timestamp() - stored.counted_at))
        >= least($2, greatest($4::float8, $3 + coalesce((select taken from share), 0) / 8))
    returning host
)
insert into git_host_share as stored (host, namespace, taken, counted_at)
select host, $5, $3, clock_timestamp() from counted
on conflict (host, namespace) do update
set taken = stored.taken * exp(greatest(-100, -extract(epoch from clock_timestamp() - stored.counted_at)::float8 / 60)) + $3,
    counted_at = clock_timestamp()
returning true

-- name: wait
-- The longest time in seconds until ``charge`` with the same parameters succeeds, and whether the host asked for a pause.
select greatest(
           extract(epoch from s.paused_until - clock_timestamp()),
           (least($2::float8, greatest($4::float8, $3::float8 + coalesce(s.taken, 0) / 8)) - h.remaining) * 60 / $2::float8
               - extract(epoch from clock_timestamp() - h.counted_at),
           0
       )::float8 as seconds,
       coalesce(s.paused_until > clock_timestamp(), false) as is_paused
from (select) as nothing
left join git_host h on h.host = $1
left join git_host_share s on s.host = $1 and s.namespace = $5

-- name: pause
-- Pauses for $2 if the host sent a time, else for twice the time of a recent pause. A pause is never shortened.
insert into git_host_share as stored (host, namespace, taken, counted_at, paused_until, paused_for)
values ($1, $5, 0, clock_timestamp(), clock_timestamp() + coalesce($2, $3::interval), coalesce($2, $3::interval))
on conflict (host, namespace) do update
set paused_for = case
        when $2 is not null then $2
        when stored.paused_until > clock_timestamp() then stored.paused_for
        when stored.paused_until + stored.paused_for > clock_timestamp() then least(stored.paused_for * 2, $4::interval)
        else $3
    end,
    paused_until = greatest(stored.paused_until, clock_timestamp() + case
        when $2 is not null then $2
        when stored.paused_until > clock_timestamp() then '0'::interval
        when stored.paused_until + stored.paused_for > clock_timestamp() then least(stored.paused_for * 2, $4::interval)
        else $3
    end)
returning extract(epoch from paused_until - clock_timestamp())::float8

-- name: delete_unused
-- Deletes the budgets and shares without a request in the time $1. The share of a paused organization is kept.
with deleted as (
    delete from git_host_share
    where counted_at < now() - $1::interval and coalesce(paused_until + paused_for < now(), true)
)
delete from git_host where counted_at < now() - $1::interval

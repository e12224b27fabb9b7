-- name: take
-- Takes requests from what is left of the most that a host may be asked in a minute; no row where less than wanted is left, or it is paused.
insert into git_host as known (host, remaining, counted_at) values ($1, $2::float8 - $3::float8, clock_timestamp())
on conflict (host) do update
set remaining = least($2, known.remaining + $2 / 60 * extract(epoch from clock_timestamp() - known.counted_at)) - $3,
    counted_at = clock_timestamp()
where least($2, known.remaining + $2 / 60 * extract(epoch from clock_timestamp() - known.counted_at)) >= $4::float8
  and coalesce(known.paused_until <= clock_timestamp(), true)
returning true

-- name: wait
-- Seconds until a host may be asked again, and whether it is paused.
select greatest(
           extract(epoch from paused_until - clock_timestamp()),
           ($3::float8 - remaining) * 60 / $2::float8 - extract(epoch from clock_timestamp() - counted_at),
           0
       )::float8 as seconds,
       coalesce(paused_until > clock_timestamp(), false) as is_paused
from git_host where host = $1

-- name: pause
-- For as long as the host says, else twice as long as the last time where that was just now, and not shorter than it is paused already.
insert into git_host as known (host, remaining, counted_at, paused_until, paused_for)
values ($1, 0, clock_timestamp(), clock_timestamp() + coalesce($2, $3::interval), coalesce($2, $3::interval))
on conflict (host) do update
set paused_for = case
        when $2 is not null then $2
        when known.paused_until > clock_timestamp() then known.paused_for
        when known.paused_until + known.paused_for > clock_timestamp() then least(known.paused_for * 2, $4::interval)
        else $3
    end,
    paused_until = greatest(known.paused_until, clock_timestamp() + case
        when $2 is not null then $2
        when known.paused_until > clock_timestamp() then '0'::interval
        when known.paused_until + known.paused_for > clock_timestamp() then least(known.paused_for * 2, $4::interval)
        else $3
    end)
returning extract(epoch from paused_until - clock_timestamp())::float8

-- name: forget
delete from git_host
where counted_at < now() - $1::interval and coalesce(paused_until + paused_for < now(), true)

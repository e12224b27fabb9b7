-- name: head
select greatest(
    (select max(resource_version) from change where feed = $1),
    (select resource_version from change_horizon),
    1
)

-- name: horizon
select resource_version from change_horizon

-- name: latest
select last_value from resource_version

-- name: after
select h.resource_version as horizon, c.*
from (select resource_version from change_horizon limit 1) h left join lateral (
    select * from change where feed = $1 and resource_version > $2 and resource_version <= $3 order by resource_version limit $4
) c on true
order by c.resource_version

-- name: after_of_kind
select h.resource_version as horizon, c.*
from (select resource_version from change_horizon limit 1) h left join lateral (
    select * from (
        (select * from change
         where feed = $1 and resource_version > $2 and resource_version <= $3 and namespace = $5 and api_group = $6 and resource = $7
           and ($9::text is null or name = $9)
         order by resource_version limit $4)
        union all
        (select * from change
         where $8 and feed = $1 and resource_version > $2 and resource_version <= $3 and namespace = $5 and api_group = 'access'
         order by resource_version limit $4)
    ) each_one
    order by resource_version limit $4
) c on true
order by c.resource_version

-- name: moved_access
select exists (
    select from change where namespace = $1 and api_group = 'access' and resource = 'permissions' and resource_version > $2
)

-- name: bodies
select uid, generation, case when place = 1 or total <= $3 then spec end as spec
from (
    select h.uid, h.generation, h.spec, sum(octet_length(h.spec)) over so_far as total, row_number() over so_far as place
    from unnest($1::uuid[], $2::bigint[]) with ordinality as wanted (uid, generation, number) join resource_history h using (uid, generation)
    window so_far as (order by wanted.number rows unbounded preceding)
) kept

-- name: due
select greatest(
    (select max(resource_version) from (select resource_version from change where changed_at < now() - $1::interval offset 0) old),
    case when (select max(resource_version) - min(resource_version) from change) >= $2 then
        (select resource_version
         from (select resource_version, changed_at from change order by resource_version desc offset $2 limit 1) beyond
         where changed_at < now() - $3::interval)
    end
)

-- name: trim
with dropped as (
    delete from change
    where resource_version in (select resource_version from change where resource_version <= $1 order by resource_version limit $2)
    returning resource_version, uid, feed
), newest as (
    select max(resource_version) as resource_version from dropped
), moved as (
    update change_horizon h set resource_version = n.resource_version from newest n where n.resource_version > h.resource_version
)
select feed, uid, count(*) as number from dropped group by feed, uid

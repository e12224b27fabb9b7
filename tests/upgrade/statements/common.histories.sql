-- name: versions
select generation, resource_version, created_at, created_by, message, parent_version, restored_from, metadata, stored_version, layout, '{}' as spec
from resource_history
where uid = $1 and ($2::bigint is null or generation < $2)
order by generation desc
limit $3

-- name: version
select generation, resource_version, created_at, created_by, message, parent_version, restored_from, metadata, stored_version, layout, spec
from resource_history
where uid = $1 and generation = $2

-- name: list_trash
select t.uid, t.name, t.namespace, t.number, t.resource_version, t.generation, t.stored_version, t.layout, t.title, t.folder, t.metadata,
       t.deleted_at, t.deleted_by
from trash t
where t.namespace = $1 and t.api_group = $2 and t.resource = $3 and ($4::text is null or t.name = $4) and (t.name, t.uid) > ($5, $6)
  and ($8::text is null or t.deleted_by = $8)
order by t.name, t.uid
limit $7

-- name: restore
delete from trash
where namespace = $1 and api_group = $2 and resource = $3 and name = $4 and uid::text = lower($5) and ($6::text is null or deleted_by = $6)
returning uid, generation, number

-- name: trim
with placed as (
    select uid, generation, row_number() over newest as place,
           coalesce(min(nullif(resource_version, 0)) over (newest rows between unbounded preceding and 1 preceding), 0) as followed_at
    from resource_history
    where uid = any($1::uuid[])
    window newest as (partition by uid order by generation desc)
), dropped as (
    delete from resource_history h using placed p, change_horizon s
    where h.uid = p.uid and h.generation = p.generation and p.place > $2 and p.followed_at <= s.resource_version
    returning 1
)
select count(*) from dropped

-- name: gone
select uid
from unnest($1::uuid[]) as asked(uid)
where not exists (select from resource r where r.uid = asked.uid) and not exists (select from trash t where t.uid = asked.uid)

-- name: forget
with in_feed as (
    select distinct uid from change where uid = any($1::uuid[])
), dropped as (
    delete from resource_history h using unnest($1::uuid[]) as gone(uid)
    where h.uid = gone.uid and gone.uid not in (select uid from in_feed)
    returning 1
)
select count(*) from dropped

-- name: expire
delete from trash where deleted_at < now() - $1::interval returning uid

-- name: head
-- The newest version of a namespace in this snapshot. Every later change of the namespace has a higher version. An empty name means all
-- namespaces: in these, a later change may have a lower version. greatest ignores the null of a feed without changes, and the result is
-- never 0, which clients read as any version.
select greatest(
    case when :namespace = '' then (select max(resource_version) from change)
         else (select max(resource_version) from change where feed = :feed and namespace = :namespace) end,
    (select resource_version from change_horizon),
    1
)

-- name: horizon
select resource_version from change_horizon

-- name: latest_version
select last_value from resource_version

-- name: snapshot
select pg_current_snapshot()::text as text, (select last_value from resource_version) as latest,
       (select resource_version from change_horizon) as horizon

-- name: list_since
-- The changes of one stream that an earlier snapshot does not contain: those of transactions that had not begun, or were running.
select * from change
where feed = :feed
  and (xid >= pg_snapshot_xmax(:snapshot::text::pg_snapshot)
       or xid = any(array(select pg_snapshot_xip(:snapshot::text::pg_snapshot))))
order by resource_version

-- name: list_after
-- The changes of one kind in a namespace, or of one object, after a version; with :with_access also changes of access to the namespace.
-- Only changes in the snapshot are returned. The horizon is read in the same statement: a reader below it would miss changes.
select h.resource_version as horizon, c.*
from (select resource_version from change_horizon limit 1) h left join lateral (
    select * from (
        (select * from change
         where feed = :feed and resource_version > :version and namespace = :namespace and api_group = :api_group and resource = :resource
           and (:name::text is null or name = :name)
           and (xid is null or pg_visible_in_snapshot(xid, :snapshot::text::pg_snapshot))
         order by resource_version limit :limit)
        union all
        (select * from change
         where :with_access and feed = :feed and resource_version > :version and namespace = :namespace and api_group = 'access'
           and (xid is null or pg_visible_in_snapshot(xid, :snapshot::text::pg_snapshot))
         order by resource_version limit :limit)
    ) changes
    order by resource_version limit :limit
) c on true
order by c.resource_version

-- name: without_writer
-- The namespaces of :namespaces in which no transaction holds the lock of writers or waits for it.
with locked as materialized (
    select objid::bigint as key from pg_locks
    where locktype = 'advisory' and classid = (10 + :feed)::oid
      and database = (select oid from pg_database where datname = current_database())
)
select namespace from unnest(:namespaces::text[]) namespace
where (hashtext(namespace)::bigint & 4294967295) not in (select key from locked)

-- name: is_ordered_by_namespace
select by_namespace from feed_order

-- name: lock_tables
select pg_advisory_xact_lock(1, 1), pg_advisory_xact_lock(1, 2)

-- name: order_by_namespace
-- Gateways of version 0039 and older have the application names $1. They read changes in the order of their versions.
update feed_order set by_namespace = true
where not exists (select from pg_stat_activity where datname = current_database() and application_name = any($1::text[]))
returning by_namespace

-- name: access_changed_since
select exists (
    select from change where namespace = $1 and api_group = 'access' and resource = 'permissions' and resource_version > $2
)

-- name: bodies
-- The generations that still exist, with the first specs up to $3 bytes in total, but at least one spec. The others are null.
select uid, generation, case when position = 1 or total <= $3 then spec end as spec
from (
    select h.uid, h.generation, h.spec, sum(octet_length(h.spec)) over so_far as total, row_number() over so_far as position
    from unnest($1::uuid[], $2::bigint[]) with ordinality as requested (uid, generation, number) join resource_history h using (uid, generation)
    window so_far as (order by requested.number rows unbounded preceding)
) sized

-- name: last_to_trim
-- The version up to which the feed may be trimmed: changes older than $1, and those beyond the newest $2 if they are older than $3. A
-- change must not be trimmed before its transaction has ended and watchers have read it: no transaction lasts as long as $3. Without
-- "offset 0" the planner would scan all younger changes for the newest old one. greatest ignores null.
select greatest(
    (select max(resource_version) from (select resource_version from change where changed_at < now() - $1::interval offset 0) old),
    case when (select max(resource_version) - min(resource_version) from change) >= $2 then
        (select resource_version
         from (select resource_version, changed_at from change order by resource_version desc offset $2 limit 1) beyond
         where changed_at < now() - $3::interval)
    end
)

-- name: trim
-- Deletes at most $2 of the oldest changes up to a version and records the newest deleted version as the horizon, so that watchers
-- below it have to list again.
with deleted as (
    delete from change
    where resource_version in (select resource_version from change where resource_version <= $1 order by resource_version limit $2)
    returning resource_version, uid, feed
), newest as (
    select max(resource_version) as resource_version from deleted
), moved as (
    update change_horizon h set resource_version = n.resource_version from newest n where n.resource_version > h.resource_version
)
select feed, uid, count(*) as number from deleted group by feed, uid

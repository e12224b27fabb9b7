-- name: page
with later as (
    select distinct on (name) *
    from change
    where namespace = $1 and api_group = $2 and resource = $3 and resource_version > $4 and name > $5
    order by name, resource_version
), former as (
    select uid, name, namespace, metadata, status, labels, folder, stored_version, layout, title, subtype, generation,
           old_resource_version as resource_version
    from later where type = 'DELETED'
    union all
    select uid, name, namespace, old_metadata, old_status, old_labels, old_folder, old_stored_version, old_layout, old_title, old_subtype,
           old_generation, old_resource_version
    from later where type = 'MODIFIED'
), page as (
    (select o.uid, o.name, o.namespace, o.resource_version, o.generation, o.stored_version, o.number, o.title, o.folder, o.layout, o.subtype,
            o.metadata, o.status
     from resource o
     where o.namespace = $1 and o.api_group = $2 and o.resource = $3 and o.resource_version <= $4 and o.name > $5 and true /* narrowed */
     order by o.name limit $6)
    union all
    (select o.uid, o.name, o.namespace, o.resource_version, o.generation, o.stored_version, o.number, o.title, o.folder, o.layout, o.subtype,
            o.metadata, o.status
     from (select *, coalesce((metadata::jsonb #>> '{labels,grafana.app/deprecatedInternalID}')::bigint, 0) as number from former) o
     where true /* narrowed */
     order by o.name limit $6)
    order by name limit $6
)

-- name: with_bodies
, sized as (
    select p.*, h.spec, octet_length(h.spec) as size, sum(octet_length(h.spec)) over (order by p.name) as total
    from page p left join resource_history h using (uid, generation)
)
select s.resource_version as horizon, t.uid, t.name, t.namespace, t.resource_version, t.generation, t.stored_version, t.number, t.title,
       t.folder, t.layout, t.subtype, t.metadata, t.status, t.size, case when t.total <= $7 then t.spec else '' end as spec
from change_horizon s left join sized t on true
order by t.name

-- name: without_bodies
select s.resource_version as horizon, p.*, 0 as size, '' as spec
from change_horizon s left join page p on true
where $7::bigint is not null
order by p.name

-- name: named
o.name = $1

-- name: not_named
o.name <> all($1::text[])

-- name: numbered
o.number = $1

-- name: labelled
o.labels @> $1::jsonb

-- name: required
not exists (
    select from jsonb_to_recordset($1::jsonb) as q(key text, operator text, "values" text[])
    where not coalesce(case q.operator
        when 'in' then o.labels ->> q.key = any(q."values")
        when 'notin' then o.labels ->> q.key is null or o.labels ->> q.key <> all(q."values")
        when 'exists' then o.labels ? q.key
        when 'absent' then not o.labels ? q.key
    end, false)
)

-- name: in_scope
(o.folder in (select unnest($1::text[]))
 or (o.folder is null and $2::boolean and o.name not in (select unnest($3::text[])))
 or o.name in (select unnest($4::text[])))

-- name: bodies
select w.uid, h.spec
from unnest($1::uuid[], $2::bigint[]) as w(uid, generation),
     lateral (select spec from resource_history h where h.uid = w.uid and h.generation = w.generation offset 0) h

-- name: count
select coalesce(sum(count), 0)::bigint from resource_count where api_group = $1 and resource = $2 and ($3::text is null or namespace = $3)

-- name: namespaces
select s.resource_version as horizon, n.namespace
from change_horizon s left join (
    select namespace from resource where api_group = $1 and resource = $2 and namespace >= $4
    union
    select namespace from change where api_group = $1 and resource = $2 and resource_version > $3 and namespace >= $4
) n on true
order by n.namespace

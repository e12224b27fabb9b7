-- fragment: columns
o.uid, o.name, o.namespace, o.resource_version, o.generation, o.stored_version, o.number, o.title, o.folder, o.layout, o.subtype, o.metadata,
o.status

-- fragment: page
-- Objects as they were at version :version, by name, after the name :after: at most :limit objects. An object that has not changed since is
-- in resource; for any other, the first change after that version has the state before it.
with later as (
    select distinct on (name) *
    from change
    where namespace = :namespace and api_group = :api_group and resource = :resource and resource_version > :version and name > :after
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
    (select {columns}
     from resource o
     where o.namespace = :namespace and o.api_group = :api_group and o.resource = :resource and o.resource_version <= :version
       and o.name > :after {conditions}
     order by o.name limit :limit)
    union all
    (select {columns}
     from (select *, coalesce((metadata::jsonb #>> '{labels,grafana.app/deprecatedInternalID}')::bigint, 0) as number from former) o
     where true {conditions}
     order by o.name limit :limit)
    order by name limit :limit
)

-- name: page_with_bodies
-- The page with at most :max_bytes bytes of bodies. Without any object, one row with the horizon.
{page}, sized as (
    select p.*, h.spec, octet_length(h.spec) as size, sum(octet_length(h.spec)) over (order by p.name) as total
    from page p left join resource_history h using (uid, generation)
)
select s.resource_version as horizon, t.uid, t.name, t.namespace, t.resource_version, t.generation, t.stored_version, t.number, t.title,
       t.folder, t.layout, t.subtype, t.metadata, t.status, t.size, case when t.total <= :max_bytes then t.spec else '' end as spec
from change_horizon s left join sized t on true
order by t.name

-- name: page_without_bodies
-- The page without bodies. Without any object, one row with the horizon.
{page}
select s.resource_version as horizon, p.*, 0 as size, '' as spec
from change_horizon s left join page p on true
order by p.name

-- condition: has_name
o.name = :name

-- condition: has_other_name
o.name <> all(:excluded_names::text[])

-- condition: has_id
o.number = :internal_id

-- condition: has_labels
-- The object has every label of a JSON object with its value.
o.labels @> :equal_labels::jsonb

-- condition: meets_requirements
not exists (
    select from jsonb_to_recordset(:label_requirements::jsonb) as q(key text, operator text, "values" text[])
    where not coalesce(case q.operator
        when 'in' then o.labels ->> q.key = any(q."values")
        when 'notin' then o.labels ->> q.key is null or o.labels ->> q.key <> all(q."values")
        when 'exists' then o.labels ? q.key
        when 'absent' then not o.labels ? q.key
    end, false)
)

-- condition: in_scope
-- Sub-selects instead of arrays: every plan looks them up by hash.
o.folder in (select unnest(:scope_folders::text[]))
or (o.folder is null and :scope_includes_root::boolean and o.name not in (select unnest(:scope_hidden_names::text[])))
or o.name in (select unnest(:scope_names::text[]))

-- name: bodies_by_uid
-- The bodies of generations of objects. "offset 0" forces one index lookup each, regardless of their number.
select w.uid, h.spec
from unnest(:uids::uuid[], :generations::bigint[]) as w(uid, generation),
     lateral (select spec from resource_history h where h.uid = w.uid and h.generation = w.generation offset 0) h

-- name: count
select coalesce(sum(count), 0)::bigint from resource_count where api_group = :api_group and resource = :resource and (:namespace::text is null or namespace = :namespace)

-- name: namespaces
-- Namespaces, from :first on, that may have had objects of a kind at version :version. Without any, one row with the horizon.
select s.resource_version as horizon, n.namespace
from change_horizon s left join (
    select namespace from resource where api_group = :api_group and resource = :resource and namespace >= :first
    union
    select namespace from change where api_group = :api_group and resource = :resource and resource_version > :version and namespace >= :first
) n on true
order by n.namespace

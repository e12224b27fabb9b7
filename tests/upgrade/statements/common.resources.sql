-- fragment: object_columns
r.uid, r.name, r.namespace, r.resource_version, r.generation, r.stored_version, r.number, r.title, r.folder, r.layout,
    r.subtype, r.metadata, h.spec, r.status

-- name: lock
select pg_advisory_xact_lock(1, 1)

-- name: exists
select exists (select from resource where namespace = $1 and api_group = $2 and resource = $3 and name = $4)

-- name: stage
create temporary table staged (
    position bigint, uid uuid, generation bigint, api_group text, resource text, name text, stored_version text, title text,
    layout boolean, tags text[], subtype text, refs text[], labels text, annotations text, finalizers text[],
    owner_references text, managed_fields text, content_hash bytea, number bigint, spec text
) on commit drop;
do $$
begin
    alter table staged alter column spec set compression lz4;
exception when feature_not_supported then
    null;
end $$

-- fragment: is_new_content
(resource.content_hash, resource.title) <> (excluded.content_hash, excluded.title)

-- fragment: write
written as (
    insert into resource (
        uid, api_group, resource, namespace, name, resource_version, generation, stored_version, title, layout, tags, subtype,
        refs, labels, annotations, finalizers, owner_references, managed_fields, created_at, created_by, content_hash, status,
        metadata, number, message
    )
    select uid, api_group, resource, :namespace, name, 0, generation, stored_version, title, layout, tags, subtype,
           refs, labels::jsonb, annotations::jsonb, finalizers, owner_references::jsonb, managed_fields::jsonb, :now, :actor,
           content_hash, :status, '', number, :message
    from input order by position
    on conflict (namespace, api_group, resource, name) do update set
        generation = resource.generation + ({is_new_content})::integer,
        updated_at = case when {is_new_content} then :now else resource.updated_at end,
        updated_by = case when {is_new_content} then :actor else resource.updated_by end,
        message = case when {is_new_content} then :message else resource.message end,
        stored_version = excluded.stored_version, title = excluded.title, layout = excluded.layout, tags = excluded.tags,
        subtype = excluded.subtype, refs = excluded.refs, labels = excluded.labels, annotations = excluded.annotations,
        finalizers = excluded.finalizers, owner_references = excluded.owner_references,
        managed_fields = excluded.managed_fields, content_hash = excluded.content_hash
    where (resource.content_hash, resource.stored_version, resource.title, resource.labels, resource.annotations,
           resource.finalizers, resource.owner_references, resource.managed_fields)
        is distinct from
          (excluded.content_hash, excluded.stored_version, excluded.title, excluded.labels, excluded.annotations,
           excluded.finalizers, excluded.owner_references, excluded.managed_fields)
    returning *
), history as (
    insert into resource_history (
        uid, generation, resource_version, metadata, stored_version, layout, spec, created_by, message, parent_version,
        restored_from
    )
    select w.uid, w.generation, w.resource_version, w.metadata, w.stored_version, w.layout, i.spec, :actor, :message,
           nullif(w.generation - 1, 0), :restored_from::bigint
    from written w join input i using (api_group, resource, name)
    on conflict do nothing
)

-- name: write_one
with input as (
    select :position::bigint as position, :uid::uuid as uid, :generation::bigint as generation, :api_group as api_group,
        :resource as resource, :name as name, :stored_version as stored_version, :title as title, :layout::boolean as layout,
        :tags::text[] as tags, :subtype as subtype, :refs::text[] as refs, :labels as labels, :annotations as annotations,
        :finalizers::text[] as finalizers, :owner_references as owner_references, :managed_fields as managed_fields,
        :content_hash::bytea as content_hash, :number::bigint as number, :spec as spec
), {write}
select w.uid, w.name, w.namespace, w.resource_version, w.generation, w.stored_version, w.number, w.title, w.folder, w.layout,
    w.subtype, w.metadata, i.spec, w.status
from written w join input i using (api_group, resource, name)

-- name: write_staged
with input as (
    select * from staged
), {write}
select count(*) from written

-- name: version
select resource_version from resource where namespace = $1 and api_group = $2 and resource = $3 and name = $4

-- name: mark_deleted
with marked as (
    update resource set deletion_timestamp = $5, generation = generation + 1, message = null
    where namespace = $1 and api_group = $2 and resource = $3 and name = $4
    returning *
), history as (
    insert into resource_history (uid, generation, resource_version, metadata, stored_version, layout, spec, created_by, parent_version)
    select m.uid, m.generation, m.resource_version, m.metadata, m.stored_version, m.layout, h.spec, $6, h.generation
    from marked m join resource_history h on h.uid = m.uid and h.generation = m.generation - 1
)
select name, uid, resource_version, generation from marked

-- name: created
select count(*)
from staged s
cross join lateral (select from resource where uid = s.uid offset 0) r
where s.api_group = $1 and s.resource = $2

-- name: taken_over
select r.resource, r.name
from staged s
cross join lateral (
    select resource, name, manager_kind, manager_id, annotations
    from resource
    where namespace = $1 and api_group = s.api_group and resource = s.resource and name = s.name
    offset 0
) r
where (r.manager_kind, r.manager_id) is distinct from ('repo', $2)
  and coalesce(r.annotations ->> 'grafana.app/managerAllowsEdits', '') <> 'true'
order by r.name
limit 1

-- name: delete
with gone as (
    delete from resource
    where namespace = $1 and api_group = $2 and resource = $3 and name = any($4::text[])
    returning *
), kept as (
    insert into trash (uid, api_group, resource, namespace, name, number, resource_version, generation, stored_version, layout, title, folder, metadata,
                       deleted_by)
    select uid, api_group, resource, namespace, name, number, resource_version, generation, stored_version, layout, title, folder, metadata, $6
    from gone where $5
    on conflict (uid) do update set
        name = excluded.name, number = excluded.number, resource_version = excluded.resource_version, generation = excluded.generation,
        stored_version = excluded.stored_version, layout = excluded.layout, title = excluded.title, folder = excluded.folder,
        metadata = excluded.metadata, deleted_at = excluded.deleted_at, deleted_by = excluded.deleted_by
)
select name from gone

-- name: delete_namespace
with emptied as (delete from trash where namespace = $1)
delete from resource where namespace = $1

-- name: extend_statement
set local statement_timeout = '5min'

-- name: get
select {object_columns}
from resource r join resource_history h using (uid, generation)
where r.namespace = $1 and r.api_group = $2 and r.resource = $3 and r.name = $4

-- name: get_many
select {object_columns}
from resource r join resource_history h using (uid, generation)
where r.namespace = $1 and r.api_group = $2 and r.resource = $3 and r.name = any($4::text[])

-- name: write_status
update resource set status = $5, managed_fields = coalesce($6::jsonb, managed_fields)
where namespace = $1 and api_group = $2 and resource = $3 and name = $4
returning resource_version

-- name: owners
select name, annotations
from resource
where namespace = $1 and api_group = $2 and resource = $3 and name = any($4::text[])

-- name: has_children
select exists (select from resource where namespace = $1 and folder = $2)

-- name: is_referred_to
select exists (
    select from resource
    where namespace = $1 and api_group = 'dashboard.grafana.app' and resource = 'dashboards' and refs @> array[$2::text]
)

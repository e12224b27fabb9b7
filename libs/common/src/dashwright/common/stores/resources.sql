-- fragment: object_columns
-- The columns of a StoredObject, from a row of resource r and the history entry h of its generation.
r.uid, r.name, r.namespace, r.resource_version, r.generation, r.stored_version, r.number, r.title, r.folder, r.layout,
    r.subtype, r.metadata, h.spec, r.status

-- name: lock
-- Taken first by every transaction that reads objects in order to write: see 0040_change_feed_by_namespace.sql.
select lock_namespaces(1, $1::text[])

-- name: exists
select exists (select from resource where namespace = $1 and api_group = $2 and resource = $3 and name = $4)

-- name: create_staging_table
-- Table in which the objects of a batch are collected, to be written in one statement.
create temporary table staged (
    position bigint, uid uuid, generation bigint, api_group text, resource text, name text, stored_version text, title text,
    layout boolean, tags text[], subtype text, refs text[], labels text, annotations text, finalizers text[],
    owner_references text, managed_fields text, content_hash bytea, number bigint, status text, spec text
) on commit drop;
-- The compression is that of the history, so that a spec is compressed only here and copied as it is. Servers without lz4 use
-- their default compression.
do $$
begin
    alter table staged alter column spec set compression lz4;
exception when feature_not_supported then
    null;
end $$

-- fragment: is_new_content
-- Whether a write changes the content of a stored object. The title is compared as well, since it may differ from
-- the title in the spec.
(resource.content_hash, resource.title) <> (excluded.content_hash, excluded.title)

-- fragment: write
-- Common table expressions that follow one named input: they create or replace its objects, and add a history entry for each new generation.
-- An object that would not change is not written, so that it gets no new version and causes no watch event.
written as (
    insert into resource (
        uid, api_group, resource, namespace, name, resource_version, generation, stored_version, title, layout, tags, subtype,
        refs, labels, annotations, finalizers, owner_references, managed_fields, created_at, created_by, content_hash, status,
        metadata, number, message
    )
    select uid, api_group, resource, :namespace, name, 0, generation, stored_version, title, layout, tags, subtype,
           refs, labels::jsonb, annotations::jsonb, finalizers, owner_references::jsonb, managed_fields::jsonb, :now, :actor,
           content_hash, status, '', number, :message
    from input order by position
    on conflict (namespace, api_group, resource, name) do update set
        generation = resource.generation + ({is_new_content})::integer,
        updated_at = case when {is_new_content} then :now else resource.updated_at end,
        updated_by = case when {is_new_content} then :actor else resource.updated_by end,
        message = case when {is_new_content} then :message else resource.message end,
        stored_version = excluded.stored_version, title = excluded.title, layout = excluded.layout, tags = excluded.tags,
        subtype = excluded.subtype, refs = excluded.refs, labels = excluded.labels, annotations = excluded.annotations,
        finalizers = excluded.finalizers, owner_references = excluded.owner_references,
        managed_fields = excluded.managed_fields, content_hash = excluded.content_hash,
        status = coalesce(excluded.status, resource.status)
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
-- Writes a single object, without a staging table, and returns its row as ``get`` would.
with input as (
    select :position::bigint as position, :uid::uuid as uid, :generation::bigint as generation, :api_group as api_group,
        :resource as resource, :name as name, :stored_version as stored_version, :title as title, :layout::boolean as layout,
        :tags::text[] as tags, :subtype as subtype, :refs::text[] as refs, :labels as labels, :annotations as annotations,
        :finalizers::text[] as finalizers, :owner_references as owner_references, :managed_fields as managed_fields,
        :content_hash::bytea as content_hash, :number::bigint as number, :status as status, :spec as spec
), {write}
select w.uid, w.name, w.namespace, w.resource_version, w.generation, w.stored_version, w.number, w.title, w.folder, w.layout,
    w.subtype, w.metadata, i.spec, w.status
from written w join input i using (api_group, resource, name)

-- name: write_staged
-- Writes all staged objects and returns the number of those that changed. A sync needs no row for each of its many objects.
with input as (
    select * from staged
), {write}
select count(*) from written

-- name: find_resource_version
select resource_version from resource where namespace = $1 and api_group = $2 and resource = $3 and name = $4

-- name: mark_deleted
-- Marks an object for deletion, which its finalizers still delay. The new generation has the spec of the previous one.
-- $5 is the time, $6 the actor.
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

-- name: count_created
-- Counts staged objects that were created: an object that existed before has kept its uid. For "offset 0" see
-- find_managed in managed_objects.sql.
select count(*)
from staged s
cross join lateral (select from resource where uid = s.uid offset 0) r
where s.api_group = $1 and s.resource = $2

-- name: find_conflict
-- A staged object that exists and that the repository may not write. For "offset 0" see find_managed in managed_objects.sql.
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
-- Deletes objects; their history is kept. If $5, their last state is put into the trash. $6 is the actor.
with deleted as (
    delete from resource
    where namespace = $1 and api_group = $2 and resource = $3 and name = any($4::text[])
    returning *
), trashed as (
    insert into trash (uid, api_group, resource, namespace, name, number, resource_version, generation, stored_version, layout, title, folder, metadata,
                       deleted_by)
    select uid, api_group, resource, namespace, name, number, resource_version, generation, stored_version, layout, title, folder, metadata, $6
    from deleted where $5
    on conflict (uid) do update set
        name = excluded.name, number = excluded.number, resource_version = excluded.resource_version, generation = excluded.generation,
        stored_version = excluded.stored_version, layout = excluded.layout, title = excluded.title, folder = excluded.folder,
        metadata = excluded.metadata, deleted_at = excluded.deleted_at, deleted_by = excluded.deleted_by
)
select name from deleted

-- name: delete_namespace
-- Deletes everything in a namespace, and its trash; the history is kept.
with emptied as (delete from trash where namespace = $1)
delete from resource where namespace = $1

-- name: extend_statement
-- A write of many objects may take longer than the statement timeout of requests.
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
-- Causes a change event, but neither a generation nor a history entry.
update resource set status = $5, managed_fields = coalesce($6::jsonb, managed_fields)
where namespace = $1 and api_group = $2 and resource = $3 and name = $4
returning resource_version

-- name: annotations_by_name
-- Annotations of the objects with the names $4. An object that does not exist has no row.
select name, annotations
from resource
where namespace = $1 and api_group = $2 and resource = $3 and name = any($4::text[])

-- name: has_children
select exists (select from resource where namespace = $1 and folder = $2)

-- name: is_panel_used
-- Tests whether a dashboard shows the library panel.
select exists (
    select from resource
    where namespace = $1 and api_group = 'dashboard.grafana.app' and resource = 'dashboards' and refs @> array[$2::text]
)

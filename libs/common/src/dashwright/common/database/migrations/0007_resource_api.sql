-- What is searched and told of an object stands in columns, and a change says what the object was before.
--
-- change: with what came before, a list can be continued at the version it began with, and whoever looks at a selection learns what entered
-- and what left it. Channel change: resource, job, or access:NAMESPACE where the tree of folders changed. Lock keys as before: (1, 1)
-- objects, (1, 2) jobs.

-- Version 1 is nobody's: no list is at version 0, which stands for "any" in a watch.
select nextval('resource_version');

alter table resource disable trigger user;

alter table resource
    -- The number that older clients know the object by.
    add column number bigint,
    add column owner_references jsonb not null default '[]',
    add column managed_fields jsonb not null default '[]',
    -- Taken from the spec at each write: whether a dashboard is of elements and a layout, the type of what comes in types, the tags.
    add column layout boolean not null default false,
    add column subtype text not null default '',
    add column tags text[] not null default '{}';

alter table resource_history
    -- The version that the generation began with; 0 where it is older than this column.
    add column resource_version bigint not null default 0,
    add column layout boolean not null default false;

update resource set number = ('x' || right(replace(uid::text, '-', ''), 14))::bit(56)::bigint & 9007199254740991;
alter table resource alter column number set not null;
update resource set
    metadata = jsonb_set(metadata::jsonb, '{labels}', labels || jsonb_build_object('grafana.app/deprecatedInternalID', number::text))::text
where resource in ('dashboards', 'folders');

-- A body with an escaped NUL is JSON that the database cannot look into.
create temporary table body on commit drop as
select h.uid, h.generation, case when position('\u0000' in h.spec) > 0 then '{}' else h.spec end::json as spec
from resource_history h join resource r using (uid)
where r.resource = 'dashboards';
update resource_history h set layout = true from body b
where b.uid = h.uid and b.generation = h.generation and (b.spec -> 'elements' is not null or b.spec -> 'layout' is not null);
update resource r set
    layout = h.layout,
    tags = case json_typeof(b.spec -> 'tags')
               when 'array' then array(select tag #>> '{}' from json_array_elements(b.spec -> 'tags') tag where json_typeof(tag) = 'string')
               else '{}'
           end
from resource_history h join body b using (uid, generation)
where h.uid = r.uid and h.generation = r.generation;

create index resource_by_number on resource (namespace, number);

alter table change
    -- 1 objects, 2 jobs: each is in the order of its versions.
    add column feed smallint not null default 1 check (feed in (1, 2)),
    add column labels jsonb not null default '{}',
    add column folder text,
    add column stored_version text not null default '',
    add column layout boolean not null default false,
    add column title text not null default '',
    add column subtype text not null default '',
    -- The state before, of an update; of a deletion only the version, since the columns above are that state.
    add column old_resource_version bigint,
    add column old_generation bigint,
    add column old_metadata text,
    add column old_status text,
    add column old_labels jsonb,
    add column old_folder text,
    add column old_stored_version text,
    add column old_layout boolean,
    add column old_title text,
    add column old_subtype text;
-- Who stood in the feed before this migration lists again.
update change_horizon set resource_version = greatest(resource_version, (select coalesce(max(resource_version), 0) from change));
delete from change;
drop index change_by_kind;
create index change_by_feed on change (feed, resource_version);
create index change_by_kind on change (namespace, api_group, resource, resource_version);

create or replace function stamp_resource() returns trigger language plpgsql as $$
begin
    new.resource_version := nextval('resource_version');
    new.number := coalesce(new.number, ('x' || right(replace(new.uid::text, '-', ''), 14))::bit(56)::bigint & 9007199254740991);
    new.metadata := jsonb_strip_nulls(jsonb_build_object(
        'name', new.name,
        'namespace', new.namespace,
        'uid', new.uid,
        'creationTimestamp', to_char(new.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'deletionTimestamp', to_char(new.deletion_timestamp at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'labels', nullif(case when new.resource in ('dashboards', 'folders', 'librarypanels')
                              then new.labels || jsonb_build_object('grafana.app/deprecatedInternalID', new.number::text)
                              else new.labels end, '{}'),
        'finalizers', nullif(to_jsonb(new.finalizers), '[]'),
        'ownerReferences', nullif(new.owner_references, '[]'),
        'annotations', new.annotations || jsonb_build_object(
            'grafana.app/createdBy', new.created_by,
            'grafana.app/updatedBy', new.updated_by,
            'grafana.app/updatedTimestamp', to_char(new.updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
        'managedFields', nullif(new.managed_fields, '[]')
    ))::text;
    return new;
end $$;

-- The plan of a join is kept, often from the update of one row: a nested loop would take a sync of thousands of rows minutes.
create or replace function feed_resource() returns trigger language plpgsql set enable_nestloop = off as $$
declare
    is_changed boolean;
begin
    if tg_op = 'DELETE' then
        insert into change (resource_version, feed, api_group, resource, namespace, name, uid, type, generation, metadata, status, labels, folder,
                            stored_version, layout, title, subtype, old_resource_version)
        select nextval('resource_version'), 1, api_group, resource, namespace, name, uid, 'DELETED', generation, metadata, status, labels, folder,
               stored_version, layout, title, subtype, resource_version
        from old_rows order by resource_version;
        is_changed := found;
        perform pg_notify('change', 'access:' || namespace) from (select distinct namespace from old_rows where resource = 'folders') n;
    elsif tg_op = 'INSERT' then
        insert into change (resource_version, feed, api_group, resource, namespace, name, uid, type, generation, metadata, status, labels, folder,
                            stored_version, layout, title, subtype)
        select resource_version, 1, api_group, resource, namespace, name, uid, 'ADDED', generation, metadata, status, labels, folder,
               stored_version, layout, title, subtype
        from new_rows;
        is_changed := found;
        perform pg_notify('change', 'access:' || namespace) from (select distinct namespace from new_rows where resource = 'folders') n;
    else
        insert into change (resource_version, feed, api_group, resource, namespace, name, uid, type, generation, metadata, status, labels, folder,
                            stored_version, layout, title, subtype, old_resource_version, old_generation, old_metadata, old_status, old_labels,
                            old_folder, old_stored_version, old_layout, old_title, old_subtype)
        select n.resource_version, 1, n.api_group, n.resource, n.namespace, n.name, n.uid, 'MODIFIED', n.generation, n.metadata, n.status, n.labels,
               n.folder, n.stored_version, n.layout, n.title, n.subtype, o.resource_version, o.generation, o.metadata, o.status, o.labels, o.folder,
               o.stored_version, o.layout, o.title, o.subtype
        from new_rows n join old_rows o using (uid);
        is_changed := found;
        perform pg_notify('change', 'access:' || namespace) from (
            select distinct n.namespace from new_rows n join old_rows o using (uid)
            where n.resource = 'folders' and n.folder is distinct from o.folder) m;
    end if;
    if is_changed then
        perform pg_notify('change', 'resource');
    end if;
    return null;
end $$;

create or replace function feed_job() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        insert into change (resource_version, feed, api_group, resource, namespace, name, uid, type, generation, metadata, spec, status, labels)
        select nextval('resource_version'), 2, api_group, resource, namespace, name, uid, 'DELETED', generation, metadata, spec, status, labels
        from old_rows order by resource_version;
    else
        insert into change (resource_version, feed, api_group, resource, namespace, name, uid, type, generation, metadata, spec, status, labels)
        select resource_version, 2, api_group, resource, namespace, name, uid,
               case tg_op when 'INSERT' then 'ADDED' else 'MODIFIED' end, generation, metadata, spec, status, labels
        from new_rows;
    end if;
    if found then
        perform pg_notify('change', 'job');
    end if;
    return null;
end $$;

drop trigger feed_update on resource;
create trigger feed_update after update on resource
    referencing old table as old_rows new table as new_rows for each statement execute function feed_resource();

alter table resource enable trigger user;

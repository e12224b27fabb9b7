-- Writers lock their namespace instead of the whole table, and gateways read changes by snapshot. See the decision record
-- docs/decisions/0012-change-feed-by-namespace.md.

-- The transaction that wrote a change. Null for changes from before this migration, which every snapshot contains.
alter table change add column xid xid8;
alter table change alter column xid set default pg_current_xact_id();
create index change_by_transaction on change (feed, xid);
drop index change_by_feed;
create index change_by_namespace on change (feed, namespace, resource_version);

-- Whether writers only take the locks of namespaces. Until then they take the lock of the table as well, for gateways of the previous
-- version that read changes in the order of their versions. A new database has no such gateways.
create table feed_order (by_namespace boolean not null);
insert into feed_order select not exists (select from resource) and not exists (select from job);

-- Makes the transaction the only writer of objects (stream 1) or jobs (stream 2) in namespaces. Locks are taken in ascending order,
-- which avoids deadlocks between transactions that write to several namespaces.
create function lock_namespaces(stream integer, namespaces text[]) returns void language plpgsql as $$
begin
    if not (select by_namespace from feed_order) then
        perform pg_advisory_xact_lock(1, stream);
    end if;
    perform pg_advisory_xact_lock(10 + stream, key)
    from (select distinct hashtext(namespace) as key from unnest(namespaces) namespace order by 1) keys;
end $$;

-- The statements of this program take the lock before their snapshot. The row triggers below keep the order of versions for any other
-- statement. The trigger per statement remains for the lock of the table.
create or replace function lock_writers() returns trigger language plpgsql as $$
begin
    if not (select by_namespace from feed_order) then
        perform pg_advisory_xact_lock(1, tg_argv[0]::integer);
    end if;
    return null;
end $$;

create or replace function draw_resource_version() returns trigger language plpgsql as $$
begin
    perform pg_advisory_xact_lock(12, hashtext(new.namespace));
    new.resource_version := nextval('resource_version');
    return new;
end $$;

create function lock_namespace_of_object() returns trigger language plpgsql as $$
begin
    perform pg_advisory_xact_lock(11, hashtext(new.namespace));
    return new;
end $$;
-- Triggers run in the order of their names: this one before "stamp", which draws the version.
create trigger lock_namespace before insert or update on resource for each row execute function lock_namespace_of_object();

-- A deletion draws its versions in the trigger per statement, so it is locked there.
create function lock_deleted_rows() returns trigger language plpgsql as $$
begin
    perform lock_namespaces(tg_argv[0]::integer, array(select distinct namespace from old_rows));
    return null;
end $$;
create trigger a_lock_deleted after delete on resource referencing old table as old_rows
    for each statement execute function lock_deleted_rows('1');
create trigger a_lock_deleted after delete on job referencing old table as old_rows
    for each statement execute function lock_deleted_rows('2');

-- Processes notify gateways after the commit: a NOTIFY within a transaction makes the commits of all transactions wait for each other.
-- Changes of folders still notify within it, since caches of rights depend on them. Gateways of the previous version are notified too.
create or replace function feed_resource() returns trigger language plpgsql set enable_nestloop = off as $$
begin
    if tg_op = 'DELETE' then
        insert into change (resource_version, feed, api_group, resource, namespace, name, uid, type, generation, metadata, status, labels, folder,
                            stored_version, layout, title, subtype, old_resource_version)
        select nextval('resource_version'), 1, api_group, resource, namespace, name, uid, 'DELETED', generation, metadata, status, labels, folder,
               stored_version, layout, title, subtype, resource_version
        from old_rows order by resource_version;
        perform pg_notify('change', 'access:' || namespace) from (select distinct namespace from old_rows where resource = 'folders') n;
    elsif tg_op = 'INSERT' then
        insert into change (resource_version, feed, api_group, resource, namespace, name, uid, type, generation, metadata, status, labels, folder,
                            stored_version, layout, title, subtype)
        select resource_version, 1, api_group, resource, namespace, name, uid, 'ADDED', generation, metadata, status, labels, folder,
               stored_version, layout, title, subtype
        from new_rows;
        perform pg_notify('change', 'access:' || namespace) from (select distinct namespace from new_rows where resource = 'folders') n;
    else
        insert into change (resource_version, feed, api_group, resource, namespace, name, uid, type, generation, metadata, status, labels, folder,
                            stored_version, layout, title, subtype, old_resource_version, old_generation, old_metadata, old_status, old_labels,
                            old_folder, old_stored_version, old_layout, old_title, old_subtype)
        select n.resource_version, 1, n.api_group, n.resource, n.namespace, n.name, n.uid, 'MODIFIED', n.generation, n.metadata, n.status, n.labels,
               n.folder, n.stored_version, n.layout, n.title, n.subtype, o.resource_version, o.generation, o.metadata, o.status, o.labels, o.folder,
               o.stored_version, o.layout, o.title, o.subtype
        from new_rows n join old_rows o using (uid);
        perform pg_notify('change', 'access:' || namespace) from (
            select distinct n.namespace from new_rows n join old_rows o using (uid)
            where n.resource = 'folders' and n.folder is distinct from o.folder) m;
    end if;
    if not (select by_namespace from feed_order) then
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
    if not (select by_namespace from feed_order) then
        perform pg_notify('change', 'job');
    end if;
    return null;
end $$;

create or replace function mark_access() returns trigger language plpgsql as $$
begin
    -- The lock of the namespace is held: its newest change is of this transaction, and one mark after all others is enough.
    if not exists (
        select from change
        where resource_version = (select max(resource_version) from change where feed = 1 and namespace = old.namespace)
          and api_group = 'access' and namespace = old.namespace
    ) then
        insert into change (resource_version, feed, api_group, resource, namespace, name, uid, type, generation, metadata)
        values (nextval('resource_version'), 1, 'access', 'permissions', old.namespace, old.name, old.uid, 'MODIFIED', 0, '{}');
    end if;
    return null;
end $$;

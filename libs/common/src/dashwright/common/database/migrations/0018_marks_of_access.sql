-- What an object was is judged by the rules and folders of today. The feed has a mark where these change in a way that could show what was
-- hidden before: an object goes with its rules, a folder goes, a folder moves. It is written when the transaction ends, behind
-- everything that happened in it: no version between is without a mark behind it.

create function mark_access() returns trigger language plpgsql as $$
begin
    -- The lock of objects is held: the newest change is this transaction's own, and one mark behind all others is enough.
    if not exists (
        select from change
        where resource_version = (select max(resource_version) from change where feed = 1) and api_group = 'access' and namespace = old.namespace
    ) then
        insert into change (resource_version, feed, api_group, resource, namespace, name, uid, type, generation, metadata)
        values (nextval('resource_version'), 1, 'access', 'permissions', old.namespace, old.name, old.uid, 'MODIFIED', 0, '{}');
    end if;
    return null;
end $$;
create constraint trigger mark after delete on access_list deferrable initially deferred for each row execute function mark_access();
create constraint trigger mark_gone after delete on resource deferrable initially deferred
    for each row when (old.resource = 'folders') execute function mark_access();
create constraint trigger mark_moved after update on resource deferrable initially deferred
    for each row when (old.resource = 'folders' and old.folder is distinct from new.folder) execute function mark_access();

-- What happened until now has no such marks: one stands behind all of it.
select pg_advisory_xact_lock(1, 1);
insert into change (resource_version, feed, api_group, resource, namespace, name, uid, type, generation, metadata)
select nextval('resource_version'), 1, 'access', 'permissions', namespace, '', gen_random_uuid(), 'MODIFIED', 0, '{}'
from (select distinct namespace from change where feed = 1) present;

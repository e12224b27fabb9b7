-- How many objects there are of a kind, and how many of them a repository has: kept by the statement that writes objects, so that it costs as
-- much among 50,000 as among five. All writers hold the lock of objects, so none waits for another's row.
create table resource_count (
    namespace text not null,
    -- Empty for what no repository has.
    repository text not null,
    api_group text not null,
    resource text not null,
    count bigint not null,
    primary key (namespace, repository, api_group, resource)
)
-- A row that changes with every object that comes or goes finds room on its own page.
with (fillfactor = 50);

create function repository_of(manager_kind text, manager_id text) returns text language sql immutable parallel safe
    return case when manager_kind = 'repo' then coalesce(manager_id, '') else '' end;

create function count_resource() returns trigger language plpgsql as $$
begin
    if tg_op = 'TRUNCATE' then
        delete from resource_count;
        return null;
    elsif tg_op = 'INSERT' then
        insert into resource_count as kept
        select namespace, repository_of(manager_kind, manager_id), api_group, resource, count(*) from new_rows group by 1, 2, 3, 4
        on conflict (namespace, repository, api_group, resource) do update set count = kept.count + excluded.count;
        return null;
    elsif tg_op = 'DELETE' then
        update resource_count kept set count = kept.count - gone.count
        from (
            select namespace, repository_of(manager_kind, manager_id) as repository, api_group, resource, count(*) from old_rows group by 1, 2, 3, 4
        ) gone
        where (kept.namespace, kept.repository, kept.api_group, kept.resource) = (gone.namespace, gone.repository, gone.api_group, gone.resource);
    else
        insert into resource_count as kept
        select namespace, repository, api_group, resource, sum(count)
        from (
            select namespace, repository_of(manager_kind, manager_id) as repository, api_group, resource, 1 as count from new_rows
            union all
            select namespace, repository_of(manager_kind, manager_id), api_group, resource, -1 from old_rows
        ) moved
        group by 1, 2, 3, 4 having sum(count) <> 0
        on conflict (namespace, repository, api_group, resource) do update set count = kept.count + excluded.count;
    end if;
    if found then
        delete from resource_count where count = 0;
    end if;
    return null;
end $$;

create trigger count_insert after insert on resource referencing new table as new_rows for each statement execute function count_resource();
create trigger count_update after update on resource
    referencing old table as old_rows new table as new_rows for each statement execute function count_resource();
create trigger count_delete after delete on resource referencing old table as old_rows for each statement execute function count_resource();
create trigger count_truncate after truncate on resource for each statement execute function count_resource();

-- Behind the triggers, which have locked the table: nothing is written between.
insert into resource_count
select namespace, repository_of(manager_kind, manager_id), api_group, resource, count(*) from resource group by 1, 2, 3, 4;

-- Nobody counts by this index any more.
drop index resource_by_manager;
create index resource_by_manager on resource (namespace, manager_kind, manager_id, hashtextextended(source_path, 0)) where manager_id is not null;

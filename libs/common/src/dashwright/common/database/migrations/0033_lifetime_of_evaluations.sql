-- How many jobs of a kind a namespace has: kept by the statement that writes jobs, so that a limit costs as much among 100,000 as among
-- five. All writers hold the lock of jobs, so no writer waits for the row of another.
create table job_count (
    namespace text not null,
    api_group text not null,
    resource text not null,
    count bigint not null,
    primary key (namespace, api_group, resource)
)
-- A row that changes with every job that comes or goes finds room on its own page.
with (fillfactor = 50);

create function count_job() returns trigger language plpgsql as $$
begin
    if tg_op = 'TRUNCATE' then
        delete from job_count;
    elsif tg_op = 'INSERT' then
        insert into job_count as kept
        select namespace, api_group, resource, count(*) from new_rows group by 1, 2, 3
        on conflict (namespace, api_group, resource) do update set count = kept.count + excluded.count;
    else
        update job_count kept set count = kept.count - gone.count
        from (select namespace, api_group, resource, count(*) from old_rows group by 1, 2, 3) gone
        where (kept.namespace, kept.api_group, kept.resource) = (gone.namespace, gone.api_group, gone.resource);
        if found then
            delete from job_count where count = 0;
        end if;
    end if;
    return null;
end $$;

create trigger count_insert after insert on job referencing new table as new_rows for each statement execute function count_job();
create trigger count_delete after delete on job referencing old table as old_rows for each statement execute function count_job();
create trigger count_truncate after truncate on job for each statement execute function count_job();

-- After the triggers, which have locked the table: no row is written between.
insert into job_count select namespace, api_group, resource, count(*) from job group by 1, 2, 3;

-- When an evaluation went with its result, so that a late reader learns that and not that there never was one.
create table expired_evaluation (
    namespace text not null,
    name text not null,
    expired_at timestamptz not null,
    primary key (namespace, name)
);
create index expired_evaluation_by_age on expired_evaluation (expired_at);

-- Finds ended jobs of a kind by their age.
create index job_ended on job (api_group, resource, finished_at) where state in ('success', 'error');

-- The commit that is stored of a repository, whole and under which generation of its spec: the next sync looks only at what differs from it.
-- No row where a file was left out: then the next sync looks at everything.
create table repository_commit (
    uid uuid primary key references resource on delete cascade,
    ref text not null,
    generation bigint not null
);

-- What came from a path. Paths are as long as they like, so their hash is kept.
drop index resource_by_manager;
create index resource_by_manager on resource (namespace, manager_kind, manager_id, hashtextextended(source_path, 0)) where manager_id is not null;

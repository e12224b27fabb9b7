-- What can be had again: older generations know where they came from, and what was deleted leaves its last state behind.

alter table resource_history
    add column parent_version bigint,
    add column restored_from bigint;

alter table resource disable trigger user;
-- The names of the library panels that a dashboard shows, from its spec at each write.
alter table resource add column refs text[] not null default '{}';
alter table resource enable trigger user;
create index resource_by_refs on resource using gin (refs);

-- The last state of what was deleted, of the kinds that can be restored; the bodies stay in resource_history.
create table trash (
    uid uuid primary key,
    api_group text not null,
    resource text not null,
    namespace text not null,
    name text not null,
    number bigint not null,
    resource_version bigint not null,
    generation bigint not null,
    stored_version text not null,
    layout boolean not null,
    title text not null,
    folder text,
    metadata text not null,
    deleted_at timestamptz not null default now(),
    deleted_by text not null
);
create index trash_by_name on trash (namespace, api_group, resource, name, deleted_at);
create index trash_by_age on trash (deleted_at);

-- What can be had again: older generations know where they came from, and what was deleted leaves its last state behind.

alter table resource_history
    add column parent_version bigint,
    add column restored_from bigint;

alter table resource disable trigger user;
-- The names of the library panels that a dashboard shows, from its spec at each write.
alter table resource add column refs text[] not null default '{}';
-- A body with an escaped NUL is JSON that the database cannot look into.
with body as (
    select uid, case when position('\u0000' in h.spec) > 0 then '{}' else h.spec end::json as spec
    from resource_history h join resource r using (uid, generation)
    where r.resource = 'dashboards'
), panel as (
    select uid, p.panel
    from body, json_array_elements(case json_typeof(spec -> 'panels') when 'array' then spec -> 'panels' end) as p(panel)
), shown as (
    select uid, panel -> 'libraryPanel' ->> 'uid' as ref from panel where json_typeof(panel -> 'libraryPanel') = 'object'
    union
    select uid, inner_panel -> 'libraryPanel' ->> 'uid'
    from panel, json_array_elements(case json_typeof(panel -> 'panels') when 'array' then panel -> 'panels' end) as i(inner_panel)
    where json_typeof(inner_panel -> 'libraryPanel') = 'object'
    union
    select uid, element.value -> 'spec' -> 'libraryPanel' ->> 'uid'
    from body, json_each(case json_typeof(spec -> 'elements') when 'object' then spec -> 'elements' end) as element
    where json_typeof(element.value -> 'spec' -> 'libraryPanel') = 'object'
)
update resource r set refs = s.refs
from (select uid, array_agg(ref) as refs from shown where ref ~ '^[a-zA-Z0-9_-]{1,40}$' group by uid) s
where s.uid = r.uid;
alter table resource enable trigger user;

-- What was deleted before there was a trash cannot be had again; the feed may still tell of it.
delete from resource_history h
where not exists (select from resource r where r.uid = h.uid) and not exists (select from change c where c.uid = h.uid);
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

-- The resource store: current objects, their history, the change feed, jobs with their leases, and the outbox.
--
-- One sequence gives every resource version. A writer takes its table's advisory lock before it draws one and holds it until
-- it has committed, so versions of one table become visible in their own order: whoever has read up to a version misses
-- nothing below it. Take no row lock before that lock (docs/decisions/0002-one-change-feed.md).

create sequence resource_version as bigint start 1;

create table resource (
    uid uuid primary key,
    api_group text not null,
    resource text not null,
    namespace text not null,
    name text not null,
    resource_version bigint not null,
    generation bigint not null,
    stored_version text not null,
    title text not null,
    labels jsonb not null,
    -- As given; who made and changed the object is added in metadata.
    annotations jsonb not null,
    finalizers text[] not null default '{}',
    created_at timestamptz not null,
    created_by text not null,
    updated_at timestamptz,
    updated_by text,
    deletion_timestamp timestamptz,
    -- sha256 of what makes a new generation: spec and folder.
    content_hash bytea not null,
    status text,
    folder text generated always as (annotations ->> 'grafana.app/folder') stored,
    manager_kind text generated always as (annotations ->> 'grafana.app/managedBy') stored,
    manager_id text generated always as (annotations ->> 'grafana.app/managerId') stored,
    source_path text generated always as (annotations ->> 'grafana.app/sourcePath') stored,
    source_checksum text generated always as (annotations ->> 'grafana.app/sourceChecksum') stored,
    -- ObjectMeta as JSON text, without resourceVersion and generation: put together once, here, read many times.
    metadata text not null,
    unique (namespace, api_group, resource, name)
);
create index resource_by_manager on resource (namespace, manager_kind, manager_id) where manager_id is not null;
create index resource_by_folder on resource (namespace, folder) where folder is not null;

-- Every generation of every object; the body of the current one is read from here too.
create table resource_history (
    uid uuid not null,
    generation bigint not null,
    metadata text not null,
    stored_version text not null,
    spec text not null,
    created_at timestamptz not null default now(),
    created_by text not null,
    message text,
    primary key (uid, generation)
);

create table job (
    uid uuid primary key,
    api_group text not null,
    resource text not null,
    namespace text not null,
    name text not null,
    resource_version bigint not null,
    generation bigint not null default 1,
    metadata text not null,
    labels jsonb not null default '{}',
    spec text not null,
    status text not null,
    repository text,
    action text not null,
    state text not null check (state in ('pending', 'working', 'success', 'error')),
    -- Equal pending jobs are one job; jobs of one lane run one after the other.
    coalesce_key text,
    lane text,
    -- The routing key of the message that wakes a worker for it.
    wake_key text not null,
    attempts integer not null default 0,
    submitted_by jsonb not null,
    created_at timestamptz not null default now(),
    started_at timestamptz,
    finished_at timestamptz,
    unique (namespace, api_group, resource, name)
);
create unique index job_pending_once on job (namespace, coalesce_key) where state = 'pending' and coalesce_key is not null;
create unique index job_lane_once on job (namespace, lane) where state = 'working' and lane is not null;
create index job_pending on job (created_at) where state = 'pending';
create index job_by_repository on job (namespace, repository, created_at);

-- Apart from job, so that a renewed lease is no change of the object.
create table job_lease (
    uid uuid primary key references job on delete cascade,
    owner uuid not null,
    expires_at timestamptz not null
);
create index job_lease_expiry on job_lease (expires_at);

-- lz4 writes and reads bodies several times faster; a server built without it keeps its own way.
do $$
begin
    alter table resource_history alter column spec set compression lz4;
exception when feature_not_supported then
    raise notice 'this server has no lz4';
end $$;

-- When a waiting job was last woken again; apart from job for the same reason.
create table job_woken (
    uid uuid primary key references job on delete cascade,
    woken_at timestamptz not null
);

-- What a batch submitter's message_id has made, so that the same message makes it once.
create table submission (
    namespace text not null,
    submitter text not null,
    message_id text not null,
    body_hash bytea not null,
    jobs uuid[] not null,
    created_at timestamptz not null default now(),
    primary key (namespace, submitter, message_id)
);

-- The outcome of an evaluation: its HTTP status, and the frames in each format, cut into pieces of at most 1 MiB.
create table evaluation (
    uid uuid primary key references job on delete cascade,
    status integer not null,
    expires_at timestamptz not null
);
create index evaluation_expiry on evaluation (expires_at);

create table evaluation_piece (
    uid uuid not null references evaluation on delete cascade,
    format text not null check (format in ('json', 'arrow')),
    piece integer not null,
    body bytea not null,
    primary key (uid, format, piece)
);
alter table evaluation_piece alter column body set storage external;

create table outbox (
    id bigint generated always as identity primary key,
    exchange text not null,
    routing_key text not null,
    body text not null,
    headers jsonb not null default '{}',
    created_at timestamptz not null default now()
);

create table change (
    resource_version bigint primary key,
    api_group text not null,
    resource text not null,
    namespace text not null,
    name text not null,
    uid uuid not null,
    type text not null check (type in ('ADDED', 'MODIFIED', 'DELETED')),
    generation bigint not null,
    metadata text not null,
    -- Null where the body stands in resource_history.
    spec text,
    status text,
    changed_at timestamptz not null default now()
);
create index change_by_kind on change (api_group, resource, resource_version);
create index change_by_age on change (changed_at);

-- The newest version that has been dropped from the feed: who stands below it must list again.
create table change_horizon (resource_version bigint not null);
insert into change_horizon values (0);

-- Lock keys: 1 resource, 2 job.
create function lock_writers() returns trigger language plpgsql as $$
begin
    perform pg_advisory_xact_lock(1, tg_argv[0]::integer);
    return null;
end $$;

create function stamp_resource() returns trigger language plpgsql as $$
begin
    new.resource_version := nextval('resource_version');
    new.metadata := jsonb_strip_nulls(jsonb_build_object(
        'name', new.name,
        'namespace', new.namespace,
        'uid', new.uid,
        'creationTimestamp', to_char(new.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'deletionTimestamp', to_char(new.deletion_timestamp at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'labels', nullif(new.labels, '{}'),
        'finalizers', nullif(to_jsonb(new.finalizers), '[]'),
        'annotations', new.annotations || jsonb_build_object(
            'grafana.app/createdBy', new.created_by,
            'grafana.app/updatedBy', new.updated_by,
            'grafana.app/updatedTimestamp', to_char(new.updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
    ))::text;
    return new;
end $$;

create function draw_resource_version() returns trigger language plpgsql as $$
begin
    new.resource_version := nextval('resource_version');
    return new;
end $$;

create function feed_resource() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        insert into change
        select nextval('resource_version'), api_group, resource, namespace, name, uid, 'DELETED', generation, metadata, null, status
        from old_rows order by resource_version;
    else
        insert into change
        select resource_version, api_group, resource, namespace, name, uid,
               case tg_op when 'INSERT' then 'ADDED' else 'MODIFIED' end, generation, metadata, null, status
        from new_rows;
    end if;
    if found then
        perform pg_notify('change', 'resource');
    end if;
    return null;
end $$;

create function feed_job() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        insert into change
        select nextval('resource_version'), api_group, resource, namespace, name, uid, 'DELETED', generation, metadata, spec, status
        from old_rows order by resource_version;
    else
        insert into change
        select resource_version, api_group, resource, namespace, name, uid,
               case tg_op when 'INSERT' then 'ADDED' else 'MODIFIED' end, generation, metadata, spec, status
        from new_rows;
    end if;
    if found then
        perform pg_notify('change', 'job');
    end if;
    return null;
end $$;

create trigger lock_first before insert or update or delete on resource for each statement execute function lock_writers('1');
create trigger stamp before insert or update on resource for each row execute function stamp_resource();
create trigger feed_insert after insert on resource referencing new table as new_rows for each statement execute function feed_resource();
create trigger feed_update after update on resource referencing new table as new_rows for each statement execute function feed_resource();
create trigger feed_delete after delete on resource referencing old table as old_rows for each statement execute function feed_resource();

create trigger lock_first before insert or update or delete on job for each statement execute function lock_writers('2');
create trigger draw_version before insert or update on job for each row execute function draw_resource_version();
create trigger feed_insert after insert on job referencing new table as new_rows for each statement execute function feed_job();
create trigger feed_update after update on job referencing new table as new_rows for each statement execute function feed_job();
create trigger feed_delete after delete on job referencing old table as old_rows for each statement execute function feed_job();

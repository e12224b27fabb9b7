-- The commits that were stored of a repository, in the order in which they first were. One that was gone back from (withdrawn) is
-- no commit to go back to by itself.
create table repository_revision (
    uid uuid not null references resource on delete cascade,
    ref text not null,
    position bigint not null generated always as identity,
    at timestamptz not null,
    job uuid,
    withdrawn boolean not null default false,
    primary key (uid, ref)
);

create index repository_revision_by_position on repository_revision (uid, position);

insert into repository_revision (uid, ref, at) select uid, ref, now() from repository_commit where ref is not null;

-- Where a branch stood when its repository was put back: as long as it stands there, and the spec is of that generation, no sync comes by itself.
create table repository_hold (
    uid uuid primary key references resource on delete cascade,
    head text not null,
    generation bigint not null
);

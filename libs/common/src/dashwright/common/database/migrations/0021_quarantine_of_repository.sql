-- What of a repository's files cannot go in, and since when: what was stored of them before stays, and who has refused the same bytes by the
-- same rules need not read them again. rules is empty where the fault does not lie in the file alone.
create table repository_fault (
    repository uuid not null references resource on delete cascade,
    path text not null,
    name text not null,
    message text not null,
    checksum text not null,
    rules text not null,
    since timestamptz not null
);

create index repository_fault_of on repository_fault (repository);

-- How many files and directories there are of the commit that is stored. Of those stored so far that is not known.
alter table repository_commit add column entries bigint not null default 0;
update repository_commit set ref = null;

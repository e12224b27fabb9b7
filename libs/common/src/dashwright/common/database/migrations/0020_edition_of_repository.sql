-- How often what is stored of a repository was written: who planned by an older edition plans anew.
-- The row stays once there is one, so a commit that is stored no longer whole has no ref.
alter table repository_commit
    alter column ref drop not null,
    add column edition bigint not null default 0;

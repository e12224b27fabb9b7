-- Pictures that comments of pull requests point to. Whoever knows the id may see one: git hosts fetch them without credentials.
create table picture (
    id uuid primary key,
    repository uuid not null references resource on delete cascade,
    media_type text not null,
    body bytea not null,
    created timestamptz not null default now()
);

-- Compressed already.
alter table picture alter column body set storage external;

create index picture_of_repository on picture (repository, created);
create index picture_by_age on picture (created);

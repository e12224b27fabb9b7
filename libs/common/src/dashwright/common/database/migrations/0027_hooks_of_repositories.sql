-- What a git host was asked to call, and when that is looked at next. ``githost`` is the block of the spec by which it was asked, as JSON:
-- that is needed to take it back. ``generation`` is that of the spec that was looked at last.
create table repository_hook (
    uid uuid primary key references resource on delete cascade,
    generation bigint not null,
    hook bigint,
    githost text,
    due timestamptz not null,
    failures integer not null default 0
);
create index repository_hook_by_due on repository_hook (due);

-- Hooks that nobody wants any more, of repositories that may be gone.
create table hook_to_remove (
    id bigint generated always as identity primary key,
    namespace text not null,
    name text not null,
    hook bigint not null,
    githost text not null,
    since timestamptz not null default now(),
    due timestamptz not null default now(),
    failures integer not null default 0
);
create index hook_to_remove_by_due on hook_to_remove (due);

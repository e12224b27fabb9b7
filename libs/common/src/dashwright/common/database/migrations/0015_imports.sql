-- What an import from another server brought, so that it may be run again: what is here already is left alone, what changed there is
-- brought anew, and what was changed or removed here stays as it is here.

create table imported (
    -- The table that the row stood in, and its key there.
    origin text not null,
    key text not null,
    -- sha256 of the row as it was brought.
    digest bytea not null,
    -- What tells whether it was changed here since: a time of change, or a generation.
    state text not null default '',
    primary key (origin, key)
);

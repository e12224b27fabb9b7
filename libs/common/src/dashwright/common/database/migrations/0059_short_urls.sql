-- Short URLs: paths of this server under a short uid. They expire some time after their last use.
create table short_url (
    org_id bigint not null references org on delete cascade,
    uid text not null,
    -- Null: created by an API key, or by an account that was deleted since.
    user_id bigint references "user" on delete set null,
    -- Relative and percent-encoded: ASCII of limited length, which an index can hold.
    path text not null check (length(path) <= 2048),
    created_at timestamptz not null,
    last_used_at timestamptz not null,
    primary key (org_id, uid),
    unique (org_id, path)
);
create index short_url_by_use on short_url (last_used_at);
create index short_url_by_user on short_url (user_id) where user_id is not null;

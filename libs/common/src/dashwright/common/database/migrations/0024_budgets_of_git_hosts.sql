-- What may still be asked of a git host, shared by all workers: requests that are left, refilled as time passes, and until when it is to be
-- left alone. Worth nothing after a crash: hosts begin anew then.
create unlogged table git_host (
    host text primary key,
    remaining double precision not null,
    counted_at timestamptz not null,
    paused_until timestamptz,
    paused_for interval
);

-- Who asks a git host how often, and until when who is to leave it alone: hosts count those who ask apart, so nobody waits for what another
-- organization has done. ``taken`` are about the requests of the last minute.
create unlogged table git_host_share (
    host text not null,
    namespace text not null,
    taken double precision not null,
    counted_at timestamptz not null,
    paused_until timestamptz,
    paused_for interval,
    primary key (host, namespace)
);
alter table git_host drop column paused_until, drop column paused_for;

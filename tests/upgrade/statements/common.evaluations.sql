-- name: open
insert into evaluation (uid, status, expires_at) values ($1, $2, now() + $3::interval)

-- name: forget
delete from evaluation where uid = $1

-- name: add_piece
insert into evaluation_piece (uid, format, piece, body) values ($1, $2, $3, $4)

-- name: find
select status, expires_at, expires_at <= now() as is_expired from evaluation where uid = $1

-- name: piece
select body from evaluation_piece where uid = $1 and format = $2 and piece = $3

-- name: expire
with due as (
    (select job.uid, namespace, name, expires_at as expired_at from evaluation join job using (uid) where expires_at <= now() limit $2)
    union all
    (select uid, namespace, name, finished_at + $1::interval
     from job
     where api_group = $3 and resource = $4 and state in ('success', 'error') and finished_at <= now() - $1::interval
       and not exists (select from evaluation where evaluation.uid = job.uid)
     limit $2)
), remembered as (
    insert into expired_evaluation (namespace, name, expired_at) select namespace, name, expired_at from due
    on conflict (namespace, name) do update set expired_at = excluded.expired_at
)
delete from job where uid in (select uid from due)
returning uid

-- name: expired_at
select expired_at from expired_evaluation where namespace = $1 and name = $2

-- name: forget_expired
delete from expired_evaluation where expired_at <= now() - $1::interval

-- name: forget_namespace
delete from expired_evaluation where namespace = $1

-- name: create_result
-- Creates the result of an evaluation, which expires after $3.
insert into evaluation (uid, status, expires_at) values ($1, $2, now() + $3::interval)

-- name: delete_result
-- Deletes the result, of which an earlier attempt may have stored a part.
delete from evaluation where uid = $1

-- name: delete_results
delete from evaluation where uid = any($1::uuid[])

-- name: create_results
-- Creates results of one chunk for each format.
with created as (
    insert into evaluation (uid, status, expires_at)
    select uid, status, now() + retention
    from unnest(:uids::uuid[], :statuses::integer[], :retentions::interval[]) r (uid, status, retention)
)
insert into evaluation_piece (uid, format, piece, body)
select uid, format, 0, body from unnest(:body_uids::uuid[], :formats::text[], :bodies::bytea[]) b (uid, format, body)

-- name: add_chunk
insert into evaluation_piece (uid, format, piece, body) values ($1, $2, $3, $4)

-- name: find
select status, expires_at, expires_at <= now() as is_expired from evaluation where uid = $1

-- name: read_chunk
select body from evaluation_piece where uid = $1 and format = $2 and piece = $3

-- fragment: due
-- Evaluations whose result has expired, and those without a result that ended longer than :retention ago.
(select job.uid, namespace, name, expires_at as expired_at from evaluation join job using (uid) where expires_at <= now() limit :limit)
union all
(select uid, namespace, name, finished_at + :retention::interval
 from job
 where api_group = :api_group and resource = :resource and state in ('success', 'error') and finished_at <= now() - :retention::interval
   and not exists (select from evaluation where evaluation.uid = job.uid)
 limit :limit)

-- name: lock_expired
select lock_namespaces(2, array(select distinct namespace from ({due}) due))

-- name: delete_expired
-- Deletes evaluations with their results, and records their names.
with due as ({due}), recorded as (
    insert into expired_evaluation (namespace, name, expired_at) select namespace, name, expired_at from due
    on conflict (namespace, name) do update set expired_at = excluded.expired_at
)
delete from job where uid in (select uid from due)
returning uid

-- name: expired_at
select expired_at from expired_evaluation where namespace = $1 and name = $2

-- name: delete_expired_names
delete from expired_evaluation
where ctid = any(array(select ctid from expired_evaluation where expired_at <= now() - $1::interval limit $2))
returning name

-- name: delete_namespace
delete from expired_evaluation where namespace = $1

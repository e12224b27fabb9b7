-- name: repositories
select name, title, status from resource where api_group = $2 and resource = $3 and namespace = $1 order by title, name limit $4

-- name: jobs
select name, repository, action, state, status::json ->> 'message' as message, created_at
from job where namespace = $1 and api_group = $2 and resource = $3 order by created_at desc limit $4

-- name: find
-- A key by its hash ($1), or by organization and name ($2, $3), with its service account, that account's role, and its grants for the
-- organization and for all organizations. The unused parameters are null; each branch reads one index.
select k.id, k.org_id, k.name, k.key, k.role, k.expires, k.is_revoked, k.service_account_id,
       a.login, coalesce(a.is_disabled, false) as is_disabled, m.role as account_role, g.actions, g.scopes
from (
    select * from api_key where key = $1::text
    union all
    select * from api_key where org_id = $2::bigint and name = $3::text
) k
left join "user" a on a.id = k.service_account_id
left join org_user m on m.user_id = a.id and m.org_id = k.org_id
cross join lateral (
    select array_agg(action order by action, scope) as actions, array_agg(scope order by action, scope) as scopes
    from permission where user_id = a.id and org_id in (0, k.org_id)
) g
limit 1;

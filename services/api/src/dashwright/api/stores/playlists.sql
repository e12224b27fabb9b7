-- name: search
-- Playlists of a namespace by title. Titles contain $4, in any letter case.
select r.name, h.spec
from resource r join resource_history h using (uid, generation)
where r.namespace = $1 and r.api_group = $2 and r.resource = $3 and position(lower($4) in lower(r.title)) > 0
order by r.title, r.name
limit $5

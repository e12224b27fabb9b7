-- name: head
select greatest(
    (select max(resource_version) from change where feed = $1),
    (select resource_version from change_horizon),
    1
)

-- name: trim
-- Drops old changes and remembers the newest dropped, so that whoever stood below it is told to list again.
with dropped as (
    delete from change where changed_at < now() - $1::interval returning resource_version, uid, feed
), newest as (
    select max(resource_version) as resource_version from dropped
), moved as (
    update change_horizon h set resource_version = n.resource_version from newest n where n.resource_version > h.resource_version
)
select distinct uid from dropped where feed = 1

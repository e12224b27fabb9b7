-- How many objects of each kind a repository has is counted after each sync: from the index, without looking at the objects. Not an index of
-- its own: without statistics the planner might look up paths by it, and so read all that a repository has.
drop index resource_by_manager;
create index resource_by_manager on resource (namespace, manager_kind, manager_id, hashtextextended(source_path, 0)) include (api_group, resource)
    where manager_id is not null;

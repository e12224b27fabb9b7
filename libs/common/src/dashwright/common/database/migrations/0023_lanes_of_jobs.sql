-- How many jobs of a lane may be at work at once: 1 for syncs and exports, more for what may run side by side.
alter table job add column lane_width smallint not null default 1 check (lane_width > 0);
drop index job_lane_once;
create unique index job_lane_once on job (namespace, lane) where state = 'working' and lane is not null and lane_width = 1;
create index job_lane_at_work on job (namespace, lane) where state = 'working' and lane is not null;

-- Until when a pending job is left alone: its git host was asked too often.
alter table job add column not_before timestamptz;

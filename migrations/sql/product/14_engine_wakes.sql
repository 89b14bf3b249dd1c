alter table engine_status add column wake_at timestamptz, add column slept_with text;
-- What is due for whom is one look-up for all tenants. Engines write it when they fall asleep
-- and when they wake; all other updates stay HOT.
create index engine_status_wake_at_idx on engine_status (wake_at);
comment on column engine_status.wake_at is 'When the engine, which no process runs, is next to be started; null while one is to run it';
comment on column engine_status.slept_with is 'The digest of what the engine ran with: with another configuration or release it is started';

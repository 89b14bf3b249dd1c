-- What the API of the registry takes.
alter table tenants
  add column concurrency int
    constraint tenants_concurrency_check check (concurrency between 1 and 10000),
  add column requests_per_second int
    constraint tenants_requests_per_second_check check (requests_per_second between 1 and 1000000),
  add column burst int
    constraint tenants_burst_check check (burst between 1 and 1000000);
comment on column tenants.concurrency is 'How many operations the tenant may have under way in each process; null for the configured default';
comment on column tenants.requests_per_second is 'How many requests a second the tenant may send to each process; null for the configured default';
comment on column tenants.burst is 'How many of these requests may come at once; null for as many as in a second';

#!/bin/sh
# What the image of PostgreSQL runs once, on an empty volume: the user of the rows of tenants, whom
# row-level security binds.
set -eu

psql --username "$POSTGRES_USER" --variable ON_ERROR_STOP=1 \
  --variable password="$(cat /run/secrets/tenancy-postgres-password)" <<'SQL'
create role portal_app login nosuperuser nobypassrls noinherit nocreatedb nocreaterole
  password :'password';
SQL

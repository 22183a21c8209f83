#!/bin/sh
# PostgreSQL runs this once, on an empty volume. `starter migrate` grants the payments role its rights.
psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d postgres -v password="$(cat /run/secrets/database_password)" \
  -v wallet_password="$(cat /run/secrets/wallet_database_password)" \
  -v monitor_password="$(cat /run/secrets/monitor_database_password)" <<'SQL'
CREATE ROLE stagecoach LOGIN PASSWORD :'password';
CREATE ROLE stagecoach_wallet LOGIN PASSWORD :'wallet_password';
CREATE ROLE stagecoach_monitor LOGIN PASSWORD :'monitor_password' IN ROLE pg_monitor;
CREATE DATABASE stagecoach OWNER stagecoach;
SQL

#!/bin/sh
# PostgreSQL runs it once, on an empty volume. What the role of payments may do is granted by `starter migrate`.
psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d postgres -v password="$(cat /run/secrets/database_password)" \
  -v wallet_password="$(cat /run/secrets/wallet_database_password)" <<'SQL'
CREATE ROLE stagecoach LOGIN PASSWORD :'password';
CREATE ROLE stagecoach_wallet LOGIN PASSWORD :'wallet_password';
CREATE DATABASE stagecoach OWNER stagecoach;
SQL

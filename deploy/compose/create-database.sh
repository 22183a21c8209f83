#!/bin/sh
# PostgreSQL runs it once, on an empty volume.
psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d postgres -v password="$(cat /run/secrets/database_password)" <<'SQL'
CREATE ROLE stagecoach LOGIN PASSWORD :'password';
CREATE DATABASE stagecoach OWNER stagecoach;
SQL

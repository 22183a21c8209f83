#!/bin/bash
# Does what the official image's entrypoint does with the variables that docker-compose.yml sets.
set -euo pipefail

[ "${1#-}" = "$1" ] || set -- postgres "$@"
[ "$1" = postgres ] || exec "$@"

if [ "$(id -u)" = 0 ]; then
	install -d -o postgres -g postgres -m 700 "$PGDATA"
	chown -R postgres:postgres "$PGDATA"
	exec setpriv --reuid postgres --regid postgres --clear-groups "$0" "$@"
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
	if [ -n "${POSTGRES_PASSWORD_FILE:-}" ]; then POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE"); fi
	: "${POSTGRES_PASSWORD:?is not set}" "${POSTGRES_USER:=postgres}" "${POSTGRES_DB:=$POSTGRES_USER}"
	export POSTGRES_USER POSTGRES_DB PGPASSWORD=$POSTGRES_PASSWORD

	initdb --username "$POSTGRES_USER" --pwfile <(printf '%s\n' "$POSTGRES_PASSWORD")
	printf '\nhost all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"

	# Only a socket: nobody connects before the files below have run.
	PGUSER=$POSTGRES_USER pg_ctl -w start -o "-c listen_addresses=''"
	if [ "$POSTGRES_DB" != postgres ]; then
		psql -v ON_ERROR_STOP=1 --no-psqlrc -U "$POSTGRES_USER" -d postgres -c "CREATE DATABASE \"$POSTGRES_DB\""
	fi
	for file in /docker-entrypoint-initdb.d/*.sh; do
		# shellcheck disable=SC1090
		if [ -x "$file" ]; then "$file"; elif [ -e "$file" ]; then . "$file"; fi
	done
	PGUSER=$POSTGRES_USER pg_ctl -m fast -w stop
fi

exec "$@" -c listen_addresses='*'

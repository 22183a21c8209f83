#!/bin/sh
# Refuses sample passwords before starting an image that would accept any: refuse-sample.sh VARIABLE… -- COMMAND…
# The value of a variable is the secret of the same name.
while [ "$1" != -- ] ; do
  case "$(cat "/run/secrets/$(echo "$1" | tr '[:upper:]' '[:lower:]')")" in
    "" | *change-me*)
      echo "$1 is empty or the sample value of .env.example: it is public, create your own. Then: docker compose up -d --force-recreate" >&2
      exit 1 ;;
  esac
  shift
done
shift
exec "$@"

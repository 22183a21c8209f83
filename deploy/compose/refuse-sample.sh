#!/bin/sh
# Refuses the sample password before an image starts that would take any: refuse-sample.sh VARIABLE FILE COMMAND…
variable=$1 file=$2
shift 2
case "$(cat "$file")" in
  "" | *change-me*)
    echo "$variable is empty or the sample value of .env.example: everybody knows it, make one of your own. Then: docker compose up -d --force-recreate" >&2
    exit 1 ;;
esac
exec "$@"

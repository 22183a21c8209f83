#!/bin/sh
# Starts Temporal's server. A container has an address in each of its three networks. The services of a whole server connect
# within the container; separate services share the three networks, so that they can reach each other at every address.
set -eu

TEMPORAL_BROADCAST_ADDRESS=127.0.0.1
if [ "${TEMPORAL_SERVICES#*,}" = "$TEMPORAL_SERVICES" ] ; then
  if [ "$LAYOUT" != frontend ] ; then
    echo "the profile scale needs TEMPORAL_SERVICES=frontend in .env" >&2
    exit 1
  fi
  TEMPORAL_BROADCAST_ADDRESS=$(hostname -i | cut -d' ' -f1)
fi
export TEMPORAL_BROADCAST_ADDRESS
POSTGRES_PWD=$(cat /run/secrets/postgres_password)
export POSTGRES_PWD
exec /etc/temporal/entrypoint.sh

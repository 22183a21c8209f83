#!/bin/sh
# Starts Temporal's server. A container has an address in each of its three networks. Parts of a whole server connect inside
# the container; services of their own are in the same three networks, so that they reach each other by each address.
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
exec /etc/temporal/entrypoint.sh

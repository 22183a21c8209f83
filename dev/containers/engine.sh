#!/bin/sh
# engine.sh COMMAND…: runs a command with a container engine and Docker Compose. Missing ones are installed, as root on
# Debian; an engine that was started here is stopped again.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
compose=v2.40.3

if ! command -v dockerd >/dev/null || ! command -v debootstrap >/dev/null; then
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker.io iptables debootstrap >/dev/null
fi

# Built if no release can be fetched; in a folder of the project, so that the user's own one is untouched.
if ! docker compose version >/dev/null 2>&1; then
	export DOCKER_CONFIG="$top/bin/tools/docker-$compose"
	plugin=$DOCKER_CONFIG/cli-plugins/docker-compose
	if ! [ -x "$plugin" ]; then
		echo "building docker compose $compose"
		source=$(cd / && GOFLAGS='' go mod download -json "github.com/docker/compose/v2@$compose" | sed -n 's/^.*"Dir": "\(.*\)".*$/\1/p')
		(cd "$source" && GOFLAGS='' go build -trimpath -ldflags="-s -w -X github.com/docker/compose/v2/internal.Version=$compose" -o "$plugin" ./cmd)
	fi
fi

if ! docker info >/dev/null 2>&1; then
	mkdir -p "$top/bin"
	dockerd >"$top/bin/dockerd.log" 2>&1 &
	engine=$!
	trap 'kill $engine; wait $engine || true' EXIT
	until docker info >/dev/null 2>&1; do
		kill -0 $engine || { tail "$top/bin/dockerd.log" >&2; exit 1; }
		sleep 1
	done
fi

"$@"

#!/bin/sh
# Builds the replacement images of dev/containers/Dockerfile as stagecoach-standin/NAME. Needs an engine: see engine.sh.
set -eu
cd "$(dirname "$0")"
context=../../bin/containers
mkdir -p "$context/bin" "$context/temporal"

if ! docker image inspect stagecoach-standin/debian >/dev/null 2>&1; then
	root=$(mktemp -d)
	trap 'rm -rf "$root"' EXIT
	debootstrap --variant=minbase bookworm "$root" >/dev/null
	tar -C "$root" -c . | docker import - stagecoach-standin/debian
fi

# The toolchain in go.mod, and Temporal's programs in the versions in dev/temporal, with the files of its original images.
rm -rf "$context/go"
echo 'module containers' >"$context/go.mod" # not a package of this module
cp -r "$(cd ../.. && go env GOROOT)" "$context/go"
cp /etc/ssl/certs/ca-certificates.crt "$context/"
build() { (cd ../temporal && CGO_ENABLED=0 GOFLAGS='' GOWORK=off go build -trimpath -ldflags='-s -w' -o "../containers/$context/bin/$1" "$2"); }
build temporal-server go.temporal.io/server/cmd/server
build temporal-sql-tool go.temporal.io/server/cmd/tools/sql
build temporal-ui github.com/temporalio/ui-server/v2/cmd/server
build temporal github.com/temporalio/cli/cmd/temporal
from() { (cd ../temporal && GOFLAGS='' GOWORK=off go list -m -f '{{.Dir}}' "$1"); }
install -m 644 "$(from go.temporal.io/server)/docker/scripts/sh/entrypoint.sh" "$context/temporal/entrypoint.sh"
install -m 644 "$(from github.com/temporalio/ui-server/v2)/config/docker.yaml" "$context/temporal/ui.yaml"

rm -rf "$context/scripts"
cp -r Dockerfile scripts "$context/"
docker compose --file images.yml build
rm -rf "$context/go" # otherwise formatters and linters of this module would read it

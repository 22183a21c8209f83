// Package containers starts docker-compose.yml with a container engine and tries it as its users do.
package containers

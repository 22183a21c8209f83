// Package containers starts docker-compose.yml with a container engine and tests it as its users would use it.
package containers

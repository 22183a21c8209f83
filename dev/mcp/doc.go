// Package mcp proves the tools of agents with a client and a suite that others have written. They run on Node.js, which
// `make test-deps` fetches with what node/package-lock.json names.
package mcp

// Package mcp tests the agents' tools with a third-party client and test suite. They run on Node.js, which `make
// test-deps` fetches together with the packages in node/package-lock.json.
package mcp

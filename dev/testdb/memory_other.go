//go:build !linux

package testdb

// memory returns the usual folder.
func memory() string { return "" }

//go:build !linux

package testdb

// memory gives the usual folder.
func memory() string { return "" }

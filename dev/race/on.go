//go:build race

// Package race reports to tests whether the race detector is on, which makes them several times as slow.
package race

// Enabled reports whether this program was built with the race detector.
const Enabled = true

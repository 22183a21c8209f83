//go:build race

// Package race tells tests whether the race detector, which makes them several times as slow, is on.
package race

// Enabled says whether this program runs with the race detector.
const Enabled = true

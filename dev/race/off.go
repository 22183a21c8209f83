//go:build !race

package race

// Enabled says whether this program runs with the race detector.
const Enabled = false

//go:build !race

package transaction_test

const raceEnabled = false

package core

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Literal writes a state, or another word of ours, as PostgreSQL does.
func Literal[S ~string](word S) string { return "'" + string(word) + "'" }

// SetOf writes states as the right side of IN. The sets are made from the tables; they stand in the statements and are no
// parameters, because PostgreSQL must prove by them that a partial index serves.
func SetOf[S ~string](states []S) string {
	names := make([]string, len(states))
	for i, state := range states {
		names[i] = Literal(state)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// Fold makes names comparable: one letter case, and one spelling of letters like "й" that have two. PostgreSQL's own
// ILIKE knows only ASCII letters in a database of locale C.
func Fold(name string) string { return norm.NFC.String(strings.ToLower(name)) }

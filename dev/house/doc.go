// Package house holds the tests of the layout as a whole: which room may link which, and how large one may be.
package house

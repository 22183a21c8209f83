// Package iterator has the names from Google's iterators that the server refers to.
package iterator

import "errors"

var Done = errors.New("no more items")

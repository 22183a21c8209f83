// Package iterator has what the server names of Google's iterators.
package iterator

import "errors"

var Done = errors.New("no more items")

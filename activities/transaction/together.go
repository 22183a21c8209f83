package transaction

import (
	"cmp"
	"sync"
)

// together asks two questions at once, of which neither needs the other's answer. Both are asked to the end; the error
// of the first one counts first.
func together[A, B any](first func() (A, error), second func() (B, error)) (a A, b B, err error) {
	var firstErr, secondErr error
	var other sync.WaitGroup
	other.Go(func() { a, firstErr = first() })
	b, secondErr = second()
	other.Wait()
	return a, b, cmp.Or(firstErr, secondErr)
}

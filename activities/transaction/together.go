package transaction

import (
	"cmp"
	"sync"
)

// together runs two independent queries concurrently. Both run to the end; the first one's error takes precedence.
func together[A, B any](first func() (A, error), second func() (B, error)) (a A, b B, err error) {
	var firstErr, secondErr error
	var other sync.WaitGroup
	other.Go(func() { a, firstErr = first() })
	b, secondErr = second()
	other.Wait()
	return a, b, cmp.Or(firstErr, secondErr)
}

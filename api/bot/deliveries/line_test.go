package deliveries

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestOneReadingForManyPlaces asks for the places of a thousand jobs at once: the record is asked once, and again only
// when the answer is old or there was none.
func TestOneReadingForManyPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		var away error
		line := newLine(func(context.Context) (map[int64]int, error) {
			asked.Add(1)
			time.Sleep(10 * time.Millisecond)
			return map[int64]int{1: 1, 1000: 1000}, away
		})

		var all sync.WaitGroup
		for id := range int64(1000) {
			all.Go(func() {
				if place, err := line.place(t.Context(), id+1); err != nil || (place != 0) != (id == 0 || id == 999) {
					t.Errorf("job %d: %d, %v", id+1, place, err)
				}
			})
		}
		all.Wait()
		if asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}

		time.Sleep(2 * lineAge)
		away = errors.New("away")
		if _, err := line.place(t.Context(), 1); !errors.Is(err, away) {
			t.Errorf("a failure is %v", err)
		}
		away = nil
		if place, err := line.place(t.Context(), 1000); err != nil || place != 1000 || asked.Load() != 3 {
			t.Errorf("after a failure: %d, %v, asked %d times", place, err, asked.Load())
		}
	})
}

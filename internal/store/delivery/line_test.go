package delivery

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestOneReadingForMany requests the line a thousand times at once: the record is queried once, and again only if the
// answer is too old or there was none.
func TestOneReadingForMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		var away error
		line := newLine(func(context.Context) (map[int64]int, error) {
			asked.Add(1)
			time.Sleep(10 * time.Millisecond)
			return map[int64]int{7: 3}, away
		})

		ask := func(age time.Duration, want int64) {
			t.Helper()
			if jobs, err := line.places(t.Context(), age); err != nil || jobs[7] != 3 || asked.Load() != want {
				t.Errorf("with age %s: %v, %v, asked %d times, want %d", age, jobs, err, asked.Load(), want)
			}
		}

		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() { ask(time.Second, 1) })
		}
		all.Wait()

		time.Sleep(2 * time.Second)
		ask(time.Second, 2)
		ask(time.Second, 2)

		away = errors.New("away")
		if _, err := line.places(t.Context(), 0); !errors.Is(err, away) {
			t.Errorf("a failure is %v", err)
		}
		away = nil
		ask(0, 4)

		ended, end := context.WithCancel(t.Context())
		end()
		all.Go(func() { ask(0, 5) })
		synctest.Wait()
		if _, err := line.places(ended, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("who does not wait any more gets %v", err)
		}
		all.Wait()
	})
}

// TestReadingHasAllBefore requests it while a reading is in progress, which may have begun before what the caller
// knows: the caller gets the next one, shared by everyone who asked meanwhile.
func TestReadingHasAllBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		line := newLine(func(context.Context) (map[int64]int, error) {
			n := asked.Add(1)
			time.Sleep(10 * time.Millisecond)
			return map[int64]int{1: int(n)}, nil
		})

		var all sync.WaitGroup
		ask := func(want int) {
			all.Go(func() {
				if jobs, err := line.places(t.Context(), 0); err != nil || jobs[1] != want {
					t.Errorf("reading %d, %v; want %d", jobs[1], err, want)
				}
			})
		}

		ask(1)
		synctest.Wait()
		time.Sleep(time.Millisecond)
		for range 1000 {
			ask(2)
		}
		all.Wait()
	})
}

package torznab

import (
	"testing"
	"testing/synctest"
	"time"

	"stagecoach/internal/fault"
)

// TestAnIndexerThatDoesNotAnswer is skipped after three requests, and queried by one search at a time after growing
// pauses.
func TestAnIndexerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(Indexer{})
		asks := func(want bool) {
			t.Helper()
			if p.begin() != want {
				t.Fatalf("asked: %t", !want)
			}
		}

		for _, err := range []*fault.Error{errAway, errBusy, nil, errAway, errKey, errAway, errAway} { // never three in a row
			asks(true)
			p.end(err)
		}
		asks(true)
		p.end(errRate) // it was not queried
		asks(true)
		asks(true) // two more at the same time
		p.end(errAway)
		asks(false)
		p.end(errAway) // of the other: the pause is the same

		last := time.Duration(0)
		for range 4 {
			began := time.Now()
			for !p.begin() {
				time.Sleep(100 * time.Millisecond)
			}
			pause := time.Since(began)
			if pause < last*4/3-time.Second || pause < 3*time.Second || pause > 2*maxPause {
				t.Errorf("a pause of %s after one of %s", pause, last)
			}
			last = pause
			asks(false) // another one does not wait for it
			p.end(errAway)
		}

		time.Sleep(2 * maxPause)
		asks(true)
		p.end(nil)
		for range 10 {
			asks(true)
		}
	})
}

// TestAnIndexerRestsAsLongAsItSays is not queried earlier, after a single refusal, up to a day.
func TestAnIndexerRestsAsLongAsItSays(t *testing.T) {
	t.Parallel()
	for said, want := range map[time.Duration]time.Duration{
		time.Second: time.Second, time.Hour: time.Hour, 30 * 24 * time.Hour: longestRest,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(Indexer{})
			if !p.begin() {
				t.Fatal("not asked")
			}
			p.end(errBusy.After(said))
			time.Sleep(want - time.Millisecond)
			if p.begin() {
				t.Errorf("asked before %s are over", said)
			}
			time.Sleep(time.Millisecond)
			for range 3 {
				if !p.begin() {
					t.Errorf("not asked after %s", said)
				}
				p.end(nil)
			}
		})
	}
}

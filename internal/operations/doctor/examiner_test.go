package doctor_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/store/operations"
)

// desk is a record that a test asks from, and that does not save at times.
type desk struct {
	mu      sync.Mutex
	request int64
	broken  int // saves that fail from now on
	saved   []int64
	changed chan struct{} // after each save
}

func (d *desk) LastCheckRequest(context.Context) (operations.CheckRequest, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return operations.CheckRequest{Number: d.request}, nil
}

func (d *desk) SaveChecks(_ context.Context, identity string, request int64, checks []operations.Check) error {
	d.mu.Lock()
	defer d.mu.Unlock()

	if d.broken > 0 {
		d.broken--
		return errors.New("the database is away")
	}
	if identity != "me" || len(checks) != 1 || checks[0].System != "yandex" {
		return errors.New("not what was found")
	}

	d.saved = append(d.saved, request)
	d.changed <- struct{}{}
	return nil
}

func (d *desk) ask(request int64, broken int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.request, d.broken = request, broken
}

// TestOneCheckPerRequest follows a process from its start through requests and outages of the record: it checks once for
// each.
func TestOneCheckPerRequest(t *testing.T) {
	t.Parallel()
	looks := make(chan struct{}, 100)
	d := &desk{changed: make(chan struct{}, 100), broken: 3}
	examiner := doctor.Examiner{
		Store: d, Identity: "me", Every: time.Millisecond, Rest: time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Checks: []doctor.Check{{System: "yandex", Run: func(context.Context) operations.Check {
			looks <- struct{}{}
			return operations.Check{State: operations.CheckRefused}
		}}},
	}

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { examiner.Run(ctx); close(ended) }()

	<-d.changed // of the start, saved after three failures
	d.ask(4, 2)
	<-d.changed
	for range 50 { // nobody asks: nothing is checked
		time.Sleep(time.Millisecond)
	}

	stop()
	<-ended

	if n := len(looks); n != 2 {
		t.Errorf("looked %d times, want once at the start and once for the request", n)
	}
	if len(d.saved) != 2 || d.saved[0] != 0 || d.saved[1] != 4 {
		t.Errorf("saved for the requests %v", d.saved)
	}
}

// TestManyAsk lets administrators ask all the time: the systems are left alone between two checks.
func TestManyAsk(t *testing.T) {
	t.Parallel()
	looks := make(chan struct{}, 1000)
	d := &desk{changed: make(chan struct{}, 1000)}
	examiner := doctor.Examiner{
		Store: d, Identity: "me", Every: time.Millisecond, Rest: time.Hour, Log: slog.New(slog.DiscardHandler),
		Checks: []doctor.Check{{System: "yandex", Run: func(context.Context) operations.Check {
			looks <- struct{}{}
			return operations.Check{State: operations.CheckWorks}
		}}},
	}

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { examiner.Run(ctx); close(ended) }()

	<-d.changed
	for request := range int64(50) {
		d.ask(request+1, 0)
		time.Sleep(time.Millisecond)
	}

	stop()
	<-ended
	if n := len(looks); n != 1 {
		t.Errorf("looked %d times", n)
	}
}

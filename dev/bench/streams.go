package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

const (
	streamsMost  = 1000
	streamEvents = 20 // a second
	streamsTime  = 8 * time.Second
	streamsLast  = 3 * time.Second // until the last event must have arrived
	pollersEvery = 250 * time.Millisecond
)

// streamsRun is the result for one number of followers.
type streamsRun struct {
	status []float64 // ms
	late   []float64 // ms from an event's insertion to each follower
}

// measureStreams has many clients follow the events of one API during a few events. In the baseline each client queries
// the record itself.
func measureStreams(ctx context.Context, m *machine) (rows []row, err error) {
	err = m.withRig(ctx, rigOptions{}, func(r *rig) error {
		api, err := r.startAPI(ctx, map[string]string{})
		if err != nil {
			return err
		}
		defer api.stop()

		ours, err := r.followEvents(ctx, streamsMost, r.follow)
		if err != nil {
			return err
		}
		polled, err := r.followEvents(ctx, streamsMost, r.pollEvents)
		if err != nil {
			return err
		}

		name := fmt.Sprintf("event streams, %d followers, ", streamsMost)
		const baseline = "a poll for each follower"
		rows = []row{
			measured(name+"status p95", "ms", quantile(ours.status, 0.95)).
				against(baseline, quantile(polled.status, 0.95)).atMost(25),
			measured(name+"slowest event", "ms", quantile(ours.late, 1)).against(baseline, quantile(polled.late, 1)).atMost(1000),
		}
		return nil
	})

	return rows, err
}

// arrival reports that a follower has an event.
type arrival func(seq int64)

// followEvents writes events while clients follow them. Each client runs follow until its context ends.
func (r *rig) followEvents(
	ctx context.Context, followers int, follow func(context.Context, arrival, func()) error,
) (run streamsRun, err error) {
	db, err := pgx.Connect(ctx, r.postgres.URL)
	if err != nil {
		return run, err
	}
	defer func() { _ = db.Close(context.WithoutCancel(ctx)) }()

	following, stop := context.WithCancel(ctx)
	defer stop()

	var mu sync.Mutex
	written := map[int64]time.Time{}
	var all, ready sync.WaitGroup
	for range followers {
		ready.Add(1)
		all.Go(func() {
			failure := follow(following, func(seq int64) {
				mu.Lock()
				defer mu.Unlock()
				if at, known := written[seq]; known {
					run.late = append(run.late, milliseconds(time.Since(at)))
				}
			}, sync.OnceFunc(ready.Done))
			if failure != nil && following.Err() == nil {
				mu.Lock()
				err = failure
				mu.Unlock()
			}
		})
	}

	ready.Wait()

	began := time.Now()
	entity := r.serial.Add(1)
	for n := range int64(streamsTime.Seconds() * streamEvents) {
		time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / streamEvents)))
		seq := entity*1_000_000 + n
		mu.Lock()
		written[seq] = time.Now()
		mu.Unlock()
		if _, err := db.Exec(ctx, `INSERT INTO events (workload, entity_id, seq, type, to_state) VALUES ('delivery', $1::bigint::text, $2, 'bench', 'bench')`, entity, seq); err != nil {
			return run, err
		}

		if n%4 == 0 {
			took, err := r.askStatus(ctx)
			if err != nil {
				return run, err
			}
			run.status = append(run.status, milliseconds(took))
		}
	}

	time.Sleep(streamsLast)
	stop()
	all.Wait()
	if missing := followers*len(written) - len(run.late); missing > 0 && err == nil {
		err = fmt.Errorf("%d of %d events did not arrive", missing, followers*len(written))
	}
	return run, err
}

// askStatus returns how long the status takes.
func (r *rig) askStatus(ctx context.Context) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.apiURL+"/v1/status", nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+adminToken)
	began := time.Now()
	err = answer(request, nil)
	return time.Since(began), err
}

// follow reads the stream of events over HTTP.
func (r *rig) follow(ctx context.Context, came arrival, ready func()) error {
	defer ready()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.apiURL+"/v1/events", nil)
	if err != nil {
		return err
	}

	request.Header.Set("Authorization", "Bearer "+adminToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()

	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the stream answers %s", response.Status)
	}

	ready()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}

		var event struct {
			Seq int64 `json:"seq"`
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return err
		}

		came(event.Seq)
	}

	return io.ErrUnexpectedEOF
}

// pollEvents queries the record repeatedly, as each stream did in release 0.1.0.
func (r *rig) pollEvents(ctx context.Context, came arrival, ready func()) error {
	defer ready()
	var cursor core.Cursor
	var err error
	if cursor, err = r.store.Notices.EventsNow(ctx); err != nil {
		return err
	}

	ready()
	for {
		events, err := r.store.Notices.EventsAfter(ctx, cursor, 200)
		if err != nil {
			return err
		}

		for _, event := range events {
			came(event.Seq)
			cursor = event.Cursor()
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollersEvery):
		}
	}
}

package status

import (
	"context"
	"slices"
	"time"

	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
)

const (
	recent      = 10 * time.Minute   // findings within this time are one incident
	tokenNotice = 7 * 24 * time.Hour // before the expiry of a token that is not renewed automatically
	awayFor     = 5 * time.Minute    // a system failing for longer counts as unavailable
	queueMost   = 1000               // tasks in one queue
	queueOldest = 10 * time.Minute   // the age of the first of them
	silentFor   = 90 * time.Second   // a worker with room polls at least once a minute
)

// Watch raises the alerts whose cause exists and closes those whose cause is gone. One process at a time runs it: the
// one that counts.
func (r *Reporter) Watch(ctx context.Context) error {
	s, err := r.Now(ctx)
	if err != nil {
		return err
	}

	causes := map[string]bool{
		notice.AlertTokenEnding: r.tokenEnds(ctx, s),
		notice.AlertQueue: slices.ContainsFunc(
			s.Queues, func(q Queue) bool { return q.Depth > queueMost || q.OldestAge > queueOldest.Seconds() },
		),
		notice.AlertStuckJobs:    s.Stuck(),
		notice.AlertStorageAway:  s.away("yandex"),
		notice.AlertFragmentAway: s.away("fragment"),
		notice.AlertFindings:     s.RecentFindings > 0,
	}

	if !s.TemporalAnswers {
		delete(causes, notice.AlertQueue) // unknown
	}
	return r.set(ctx, s, causes)
}

// WatchWorkers does the same for the alerts that a worker cannot raise: no worker is alive, Temporal is unavailable,
// and the database, though readable, accepts no writes. The process that sends the alerts runs it.
func (r *Reporter) WatchWorkers(ctx context.Context) error {
	s, err := r.Now(ctx)
	if err != nil {
		return err
	}

	causes := map[string]bool{notice.AlertTemporalAway: !s.TemporalAnswers, notice.AlertNoWrites: !r.takesWrites(ctx)}
	if s.TemporalAnswers {
		causes[notice.AlertNoWorker] = !slices.ContainsFunc(
			s.Workers, func(w Worker) bool { return len(w.Queues) > 0 && w.LastHeard < silentFor.Seconds() },
		)
	}
	return r.set(ctx, s, causes)
}

// takesWrites reports whether the readable database also accepts writes.
func (r *Reporter) takesWrites(ctx context.Context) bool {
	err := r.o.Store.Operations.Ping(core.Reserved(ctx))
	if !core.RefusesWrites(err) {
		return true // or unknown: the connection was lost
	}
	r.o.Log.Error("database refuses writes", "error", err)
	return false
}

// set writes the alerts that change.
func (r *Reporter) set(ctx context.Context, s Status, causes map[string]bool) error {
	var raise, resolve []string
	for kind, there := range causes {
		open := slices.ContainsFunc(s.Alerts, func(a notice.OpenAlert) bool { return a.Kind == kind })
		switch {
		case there && !open:
			raise = append(raise, kind)
		case !there && open:
			resolve = append(resolve, kind)
		}
	}

	return r.o.Store.Notices.SetAlerts(ctx, raise, resolve)
}

// away reports whether calls to a system have failed for awayFor, and still fail: without calls its state is unknown.
func (s Status) away(system string) bool {
	return slices.ContainsFunc(s.Outside, func(o Outside) bool {
		return o.Name == system && o.FailingFor != nil && *o.FailingFor > awayFor.Seconds() && *o.FailureAge < recent.Seconds()
	})
}

func (r *Reporter) tokenEnds(ctx context.Context, s Status) bool {
	if s.TokenExpiresIn == nil || *s.TokenExpiresIn > tokenNotice.Seconds() || r.o.TokenRenews == nil {
		return false
	}
	renews, err := r.o.TokenRenews(ctx)
	return err == nil && !renews
}

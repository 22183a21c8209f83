package download

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"stagecoach/dev/sim"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/download"
	"stagecoach/internal/temporalio"
)

// awayStore is an unavailable record.
type awayStore struct{ Store }

func (awayStore) ByID(context.Context, int64) (download.Download, error) {
	return download.Download{}, fault.New(fault.StoreUnavailable, "away").Retry()
}

// TestInterruptionsAreNotAttempts lets each activity's first attempt fail and interrupts the second one, which counts one
// failed attempt: by a stopping worker, and by a record that is unavailable for longer than an attempt may take.
func TestInterruptionsAreNotAttempts(t *testing.T) {
	t.Parallel()
	type run = func(context.Context, int64) (lifecycle.DownloadRecord, error)
	for name, prepare := range map[string]func(s *shelf, source string) (run, int64){
		"FetchTorrent": func(s *shelf, source string) (run, int64) { return s.FetchTorrent, s.job(source).ID },
		"AddTorrent":   func(s *shelf, _ string) (run, int64) { return s.AddTorrent, s.job(magnet(1)).ID },
		"ImportDownload": func(s *shelf, _ string) (run, int64) {
			return s.ImportDownload, s.complete("text", map[string]string{"a.epub": epub}).ID
		},
	} {
		for _, stops := range []bool{true, false} {
			t.Run(name+map[bool]string{true: " in a worker that stops", false: " without the record"}[stops], func(t *testing.T) {
				t.Parallel()
				s := newShelf(t)
				hangs := false
				source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if hangs {
						<-r.Context().Done()
					}
					w.WriteHeader(http.StatusServiceUnavailable)
				}))
				t.Cleanup(source.Close)
				try, job := prepare(s, source.URL)
				s.qb.AddFault(sim.Fault{Kind: "503", Times: 1})

				env, stop := testtemporal.Environment(), make(chan struct{})
				env.SetTestTimeout(time.Minute)
				env.SetWorkerStopChannel(stop)
				env.RegisterActivityWithOptions(func(ctx context.Context) error {
					switch activity.GetInfo(ctx).Attempt {
					case 1:
					case 2:
						if hangs = stops; stops {
							s.qb.AddFault(sim.Fault{Kind: "timeout"})
							close(stop)
						} else {
							s.Activities.Store = awayStore{s.Activities.Store}
						}
					default:
						t.Error("the interruption is a failed try")
						return temporal.NewNonRetryableApplicationError("x", "X", nil)
					}
					_, err := try(ctx, job)
					return err
				}, activity.RegisterOptions{Name: "try"})

				env.ExecuteWorkflow(func(ctx workflow.Context) error {
					return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
						StartToCloseTimeout: 8 * time.Second,
						RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 3},
					}), "try").Get(ctx, nil)
				})
				if used, interrupted := temporalio.InterruptedIn(env.GetWorkflowError()); !interrupted || used != 1 {
					t.Errorf("%d failed tries, interrupted %t: %v", used, interrupted, env.GetWorkflowError())
				}
			})
		}
	}
}

package download_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/download"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/fetch"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	downloadstore "stagecoach/internal/store/download"
	"stagecoach/workflows/download"
)

func TestMain(m *testing.M) { testdb.Main(m, testtemporal.Stop) }

// rig is a library, a qBittorrent that is played, and a worker that polls it several times a second.
type rig struct {
	*testing.T
	server     *testtemporal.Server
	client     client.Client
	database   string
	store      *store.Store
	qb         *torrentsim.QBittorrent
	torrents   *qbittorrent.Client
	jobs       *service.Downloads
	acts       *activities.Activities
	worker     worker.Worker
	stopWorker func()
	book       downloadstore.Book
	reader     account.User
}

// pollEvery is often enough for tests.
const pollEvery = 200 * time.Millisecond

func newRig(t *testing.T, o torrentsim.QBittorrentOptions, grace time.Duration) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("needs PostgreSQL and Temporal")
	}
	return newRigOn(t, testtemporal.Take(t), o, grace)
}

// newRigOn uses a server that no other test uses.
func newRigOn(t *testing.T, server *testtemporal.Server, o torrentsim.QBittorrentOptions, grace time.Duration) *rig {
	t.Helper()
	w := &rig{T: t, server: server, client: server.Client, database: testdb.URL(t)}
	var err error
	w.store, err = store.Open(t.Context(), w.database, testdb.Key)
	w.must(err)
	t.Cleanup(w.store.Close)
	// Ids of this test's own: they name workflows, and the server remembers those of the tests before.
	w.exec(fmt.Sprintf(`ALTER TABLE books ALTER COLUMN id RESTART WITH %d`, firstID.Add(1_000_000)))
	w.qb, err = torrentsim.NewQBittorrent(o)
	w.must(err)
	web := httptest.NewServer(w.qb)
	t.Cleanup(func() { _ = w.qb.Close(); web.Close() })
	quiet := slog.New(slog.DiscardHandler)
	w.jobs = &service.Downloads{Temporal: w.client, Store: w.store, Log: quiet, CancelPatience: 30 * time.Second}
	w.torrents = qbittorrent.New(qbittorrent.Options{
		URL: web.URL, Username: "admin", Password: "adminadmin", ActiveCategory: "active", DoneCategory: "done",
	})

	w.acts = &activities.Activities{
		Store: w.store, Jobs: w.jobs, Torrents: w.torrents, Log: quiet,
		Fetcher: fetch.New(fetch.Options{AllowPrivate: true}),
		Settings: activities.Settings{
			SavePath: "/books", EnqueuePatience: 3 * time.Second, Grace: grace, PollGap: time.Minute,
		},
	}

	w.startWorker()
	w.reader = w.user(account.RoleUser)
	w.book = w.newBook()
	w.must(w.startSync(t.Context()))
	t.Cleanup(func() {
		_ = w.client.TerminateWorkflow(context.WithoutCancel(t.Context()), w.syncID(), "", "the test is over")
	})
	return w
}

var firstID atomic.Int64

func (w *rig) syncID() string { return lifecycle.DownloadSyncID + "/" + w.Name() }

// startSync starts the watcher, unless it runs.
func (w *rig) startSync(ctx context.Context) error {
	_, err := w.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: w.syncID(), TaskQueue: lifecycle.MainQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, lifecycle.DownloadSyncType)
	return err
}

func (w *rig) startWorker() {
	w.Helper()
	w.worker = worker.New(w.client, lifecycle.MainQueue, worker.Options{
		WorkerStopTimeout: 2 * time.Second,
		// As in production: two pollers may both wait at the sticky queue while a new workflow lies in the common one.
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
	})

	w.worker.RegisterWorkflowWithOptions(
		(&download.Workflow{Settings: download.Settings{Grace: w.acts.Settings.Grace}}).Run,
		workflow.RegisterOptions{Name: lifecycle.DownloadType},
	)
	w.worker.RegisterWorkflowWithOptions(download.Sync, workflow.RegisterOptions{Name: lifecycle.DownloadSyncType})
	w.worker.RegisterActivity(w.acts)
	w.worker.RegisterActivity(&activities.Sync{
		Store: w.store, Torrents: w.torrents, Temporal: w.client, Metrics: metrics.New().Download(), Log: w.jobs.Log,
		Settings: activities.SyncSettings{Every: pollEvery, PollGap: time.Minute, StalledAfter: 24 * time.Hour},
	})
	w.must(w.worker.Start())
	files := worker.New(w.client, lifecycle.TorrentQueue, worker.Options{
		WorkerStopTimeout: 2 * time.Second, MaxConcurrentActivityExecutionSize: 2, DisableWorkflowWorker: true,
		MaxHeartbeatThrottleInterval: time.Second,
	})

	activities.RegisterFiles(files, w.acts)
	w.must(files.Start())
	stop := sync.OnceFunc(func() { w.worker.Stop(); files.Stop() })
	w.stopWorker = stop
	w.Cleanup(stop)
}

func (w *rig) user(role string) account.User {
	w.Helper()
	user, err := w.store.CreateUser(w.Context(), account.User{Role: role, Status: account.UserActive}, account.NewToken())
	w.must(err)
	return user
}

func (w *rig) newBook() downloadstore.Book {
	w.Helper()
	book, err := w.jobs.CreateBook(w.Context(), w.reader, "A book of a test", "Nobody", "")
	w.must(err)
	return book
}

func (w *rig) exec(sql string, args ...any) {
	w.Helper()
	conn, err := pgx.Connect(w.Context(), w.database)
	w.must(err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(w.Context(), sql, args...)
	w.must(err)
}

// start asks for a download of the world's book.
func (w *rig) start(link string) downloadstore.Download {
	w.Helper()
	job, created, err := w.jobs.Start(
		w.Context(), w.reader, service.DownloadAsk{BookID: w.book.ID, MediaType: downloadstore.MediaText, SourceURL: link},
	)
	w.must(err)
	if !created {
		w.Fatal("there was one")
	}
	return job
}

func magnet(n int64) string { return fmt.Sprintf("magnet:?xt=urn:btih:%040d", n) }

func (w *rig) reload(job downloadstore.Download) downloadstore.Download {
	w.Helper()
	found, err := w.store.DownloadByID(w.Context(), job.ID)
	w.must(err)
	return found
}

// becomes waits for a status, and gives the job as it is then.
func (w *rig) becomes(job downloadstore.Download, status lifecycle.DownloadState) (got downloadstore.Download) {
	w.Helper()
	w.eventually(fmt.Sprintf("download %d is %s", job.ID, status), func() bool {
		got = w.reload(job)
		return got.State == status
	})
	return got
}

// torrent gives the only torrent with the job's mark; nil: there is none.
func (w *rig) torrent(job downloadstore.Download) *torrentsim.Torrent {
	for _, t := range w.qb.Torrents() {
		for _, tag := range t.Tags {
			if tag == job.Tag() {
				return &t
			}
		}
	}
	return nil
}

// closed waits for the end of a job's workflow, and gives how it is: "Completed", "Canceled", "Failed" …
func (w *rig) closed(job downloadstore.Download) string {
	w.Helper()
	var status enumspb.WorkflowExecutionStatus
	w.eventually("the workflow has ended", func() bool {
		description, err := w.client.DescribeWorkflowExecution(w.Context(), job.WorkflowID(), "")
		w.must(err)
		status = description.WorkflowExecutionInfo.Status
		return status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
	return status.String()
}

// events lists the types of a job's events.
func (w *rig) events(job downloadstore.Download) (types []string) {
	w.Helper()
	events, err := w.store.EventsOf(w.Context(), "download", fmt.Sprint(job.ID))
	w.must(err)
	for _, event := range events {
		types = append(types, event.Type)
	}
	return types
}

// history gives the events of a workflow's newest run.
func (w *rig) history(workflowID, runID string) []*historypb.HistoryEvent {
	w.Helper()
	return w.server.History(w, workflowID, runID)
}

func (w *rig) eventually(what string, holds func() bool) {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("it never came to this: %s", what)
		}
	}
}

func (w *rig) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%v %v", err, cause(err))
	}
}

func cause(err error) error {
	if f := fault.As(err); f != nil {
		return f.Cause
	}
	return nil
}

func (w *rig) wantCode(err error, code fault.Code) {
	w.Helper()
	if fault.CodeOf(err) != code {
		w.Errorf("got %v %v, want %s", err, cause(err), code)
	}
}

package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mymmrac/telego"
	"github.com/mymmrac/telego/telegoapi"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	activities "stagecoach/activities/delivery"
	"stagecoach/dev/smalldisk"
	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/yandex"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// TestTripsOfADelivery counts the round trips to PostgreSQL of a small file's delivery from the request to the receipt:
// one reads, one creates the job, one records its workflow, two claim it, two begin the download, two begin streaming,
// two end it.
func TestTripsOfADelivery(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.deliver(r.file("first")) // the connection prepares the statements

	for _, content := range []string{"new", "new"} { // sent, and sent again by file_id
		file := r.file(content)
		before, begun := r.trips.Count(), time.Now()
		r.deliver(file)
		progress := int(time.Since(begun) / time.Second) // a slow attempt also records its progress, at most once a second
		if trips := r.trips.Count() - before; trips < 11 || trips > 11+progress {
			t.Errorf("a delivery has cost %d round trips", trips)
		}
	}

	if r.telegram.uploads != 2 || r.telegram.repeats != 1 {
		t.Errorf("%d uploads, %d by file_id", r.telegram.uploads, r.telegram.repeats)
	}
}

// TestLostClaimSendsNothing gives the job to another attempt while its first one queries the storage: the first one
// notices at its next write, before the first byte.
func TestLostClaimSendsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	job, _, err := r.deliveries.Request(r.Context(), r.user, r.file("lost").ID, "key", delivery.SourceAPI)
	r.must(err)

	r.storage.asked = func() {
		_, err := r.store.Deliveries.Change(r.Context(), job.ID, func(walk *delivery.JobWalk) error {
			steps := deliveries.Steps{JobWalk: walk}
			return errors.Join(
				steps.Requeue(fault.WorkerLost, 1, nil), steps.Claim(1), steps.Do(lifecycle.DeliveryActionStartDownload, ""),
			)
		})
		r.must(err)
	}

	if _, err := r.attempt(job.ID); err == nil {
		t.Error("the attempt has succeeded")
	}
	if after, err := r.store.Deliveries.ByID(r.Context(), job.ID); err != nil || after.State != lifecycle.DeliveryDownloading || r.telegram.uploads != 0 {
		t.Errorf("the job is %s after %d uploads: %v", after.State, r.telegram.uploads, err)
	}
}

// TestLostClaimKeepsTheSentFile gives the job to another attempt while Telegram accepts the bytes of its first one: its
// receipt is refused, but Telegram has the content.
func TestLostClaimKeepsTheSentFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file := r.file("kept")
	job, _, err := r.deliveries.Request(r.Context(), r.user, file.ID, "key", delivery.SourceAPI)
	r.must(err)

	r.telegram.taken = func() {
		_, err := r.store.Deliveries.Change(r.Context(), job.ID, func(walk *delivery.JobWalk) error {
			steps := deliveries.Steps{JobWalk: walk}
			return errors.Join(steps.Requeue(fault.WorkerLost, 1, nil), steps.Claim(1))
		})
		r.must(err)
	}

	if _, err := r.attempt(job.ID); err == nil {
		t.Error("the attempt has succeeded")
	}
	if after, err := r.store.Deliveries.ByID(r.Context(), job.ID); err != nil || after.State != lifecycle.DeliveryClaimed || after.MessageID != nil {
		t.Errorf("the job is %+v: %v", after, err)
	}
	if sent, _, err := r.store.Deliveries.SentFile(r.Context(), file.SHA256, file.Size); err != nil || sent != "file-kept" {
		t.Errorf("Telegram has %q: %v", sent, err)
	}
}

// TestOnlyUnclaimedJobsExpire runs attempts after the TTL, by the database's clock: for a job that was never claimed,
// and for a job that was put back.
func TestOnlyUnclaimedJobsExpire(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.activities.Settings.TTL = time.Microsecond
	job, _, err := r.deliveries.Request(r.Context(), r.user, r.file("late").ID, "key", delivery.SourceAPI)
	r.must(err)

	_, err = r.attempt(job.ID)
	if failure, ok := errors.AsType[*sdk.ApplicationError](err); !ok || failure.Type() != string(fault.NotClaimedInTime) {
		t.Errorf("the attempt ended with %v", err)
	}
	if after, err := r.store.Deliveries.ByID(r.Context(), job.ID); err != nil || after.RowVersion != job.RowVersion {
		t.Errorf("the job is %+v: %v", after, err)
	}

	_, err = r.store.Deliveries.Change(r.Context(), job.ID, func(walk *delivery.JobWalk) error {
		steps := deliveries.Steps{JobWalk: walk}
		return errors.Join(steps.Claim(0), steps.HandOver(""))
	})
	r.must(err)
	if receipt, err := r.attempt(job.ID); err != nil || receipt.State != lifecycle.DeliveryDelivered {
		t.Errorf("the job is %s: %v", receipt.State, err)
	}
}

// TestSentMeanwhile sends the content to Telegram from elsewhere while an attempt waits out a rate limit: the attempt
// then sends no bytes.
func TestSentMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file := r.file("twice")
	r.telegram.refuses = func() error {
		r.telegram.refuses = nil
		r.must(r.store.Deliveries.SaveSentFile(r.Context(), delivery.SentFile{SHA256: file.SHA256, Size: file.Size, FileID: "file-1"}))
		return &telegoapi.Error{ErrorCode: http.StatusTooManyRequests, Parameters: &telegoapi.ResponseParameters{RetryAfter: 1}}
	}

	r.deliver(file)
	if r.telegram.uploads != 0 || r.telegram.repeats != 1 {
		t.Errorf("%d uploads, %d by file_id", r.telegram.uploads, r.telegram.repeats)
	}
}

// TestLongRateLimitEndsTheAttempt releases the slot if Telegram requires a longer wait than an attempt waits out: the next
// attempt begins after it.
func TestLongRateLimitEndsTheAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file := r.file("later")
	r.telegram.refuses = func() error {
		return &telegoapi.Error{ErrorCode: http.StatusTooManyRequests, Parameters: &telegoapi.ResponseParameters{RetryAfter: 61}}
	}

	job, _, err := r.deliveries.Request(r.Context(), r.user, file.ID, "key", delivery.SourceAPI)
	r.must(err)
	_, err = r.attempt(job.ID)
	var failure *sdk.ApplicationError
	if !errors.As(err, &failure) || failure.NextRetryDelay() < 61*time.Second {
		t.Errorf("the attempt ended with %v", err)
	}
	if after, err := r.store.Deliveries.ByID(r.Context(), job.ID); err != nil || after.State != lifecycle.DeliveryQueued || after.Attempt != 1 {
		t.Errorf("the job is %+v: %v", after, err)
	}
}

// TestASharedFolderThatIsNotRead sends the bytes while Telegram's server cannot read the shared folder, and alerts the
// administrators until it can.
func TestASharedFolderThatIsNotRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spool, err := activities.NewSpool("", t.TempDir(), 1000, time.Hour, r.activities.Metrics.SpoolUsage)
	r.must(err)
	r.activities.Spool = spool
	alerted := func() bool {
		open, err := r.store.Notices.Incidents(t.Context(), true, 0, 10)
		r.must(err)
		return slices.ContainsFunc(open, func(i notice.Incident) bool { return i.Kind == notice.AlertTelegramFolder })
	}

	r.telegram.noFolder = "Bad Request: wrong remote file identifier specified: can't unserialize it. Wrong last symbol"
	for n, content := range []string{"one", "two"} {
		r.deliver(r.file(content))
		if !alerted() || r.telegram.uploads != n+1 || r.telegram.read != 0 {
			t.Errorf("alerted: %t, %d uploads, %d files read", alerted(), r.telegram.uploads, r.telegram.read)
		}
	}

	r.telegram.noFolder = ""
	r.deliver(r.file("three"))
	if alerted() || r.telegram.uploads != 2 || r.telegram.read != 1 {
		t.Errorf("alerted: %t, %d uploads, %d files read", alerted(), r.telegram.uploads, r.telegram.read)
	}
}

// TestSendsWithoutBytesHaveLimits lets Telegram hang before it accepts a request, and after: the outcome of an accepted
// one is unknown.
func TestSendsWithoutBytesHaveLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		taken, shared bool
		want          fault.Code
		state         lifecycle.DeliveryState
	}{
		"by file_id":            {true, false, fault.OutcomeUnknown, lifecycle.DeliveryStreaming},
		"by file_id, not taken": {false, false, fault.TelegramUnavailable, lifecycle.DeliveryQueued},
		"by place":              {true, true, fault.OutcomeUnknown, lifecycle.DeliveryStreaming},
		"by place, not taken":   {false, true, fault.TelegramUnavailable, lifecycle.DeliveryQueued},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			file := r.file("content")
			if c.shared {
				spool, err := activities.NewSpool("", t.TempDir(), 1000, time.Hour, r.activities.Metrics.SpoolUsage)
				r.must(err)
				r.activities.Spool = spool
			} else {
				r.must(r.store.Deliveries.SaveSentFile(t.Context(), delivery.SentFile{SHA256: file.SHA256, Size: file.Size, FileID: "file-1"}))
			}
			limit := &r.activities.Settings.SendInitTimeout
			if c.taken {
				limit = &r.activities.Settings.ChunkTimeout
			}
			*limit = 50 * time.Millisecond
			r.telegram.hangs = func(ctx context.Context) error {
				if c.taken {
					httptrace.ContextClientTrace(ctx).WroteRequest(httptrace.WroteRequestInfo{})
				}
				<-ctx.Done()
				return ctx.Err()
			}

			job, _, err := r.deliveries.Request(t.Context(), r.user, file.ID, "key", delivery.SourceAPI)
			r.must(err)
			_, err = r.attempt(job.ID)
			if failure, ok := errors.AsType[*sdk.ApplicationError](err); !ok || failure.Type() != string(c.want) {
				t.Errorf("the attempt ended with %v", err)
			}
			if after, err := r.store.Deliveries.ByID(t.Context(), job.ID); err != nil || after.State != c.state {
				t.Errorf("the job is %s: %v", after.State, err)
			}
		})
	}
}

// rig delivers small files through stubs of the storage, Telegram and Temporal.
type rig struct {
	*testing.T
	trips      *testdb.Trips
	store      *store.Store
	deliveries *deliveries.Service
	activities *activities.Activities
	storage    *storage
	telegram   *telegram
	user       account.User
}

func newRig(t *testing.T) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}

	r := &rig{T: t, trips: testdb.CountTrips(t, testdb.URL(t)), storage: &storage{}, telegram: &telegram{}}
	var err error
	r.store, err = store.OpenPool(t.Context(), r.trips.URL, core.Pool{Connections: 2}, testdb.Key) // one, and one reserved
	r.must(err)
	t.Cleanup(r.store.Close)

	r.deliveries = &deliveries.Service{
		Temporal: temporal{}, Store: r.store, MaxFileSize: 1000, Log: slog.New(slog.DiscardHandler),
	}
	r.activities = &activities.Activities{
		Store: r.store.Deliveries, Alerts: r.store.Notices,
		Storage: r.storage, Telegram: r.telegram, Temporal: temporal{},
		Metrics: metrics.New().Delivery(), Log: slog.New(slog.DiscardHandler),
		Settings: activities.Settings{
			TTL: time.Hour, JobTimeout: time.Hour, StorageTimeout: time.Hour, SendInitTimeout: time.Hour,
			ChunkTimeout: time.Hour, ShortRetryAfter: time.Minute, MaxFileSize: 1000, HandOverAfter: time.Hour,
		},
	}

	chat := int64(1)
	r.user, err = r.store.Accounts.CreateUser(t.Context(), account.User{TelegramID: &chat, Status: account.UserActive}, "")
	r.must(err)
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// file puts a file with this content into the storage.
func (r *rig) file(content string) delivery.File {
	r.Helper()
	r.storage.content = content
	item, _ := r.storage.Stat(r.Context(), "")
	saved, err := r.store.Deliveries.SaveFiles(r.Context(), []delivery.File{{
		Path: "/" + content, Parent: "/", Name: content, Size: item.Size, SHA256: item.SHA256, ModifiedAt: time.Now(),
	}})
	r.must(err)
	return saved[0]
}

// deliver delivers a file.
func (r *rig) deliver(file delivery.File) {
	r.Helper()
	job, _, err := r.deliveries.Request(r.Context(), r.user, file.ID, fmt.Sprint(r.trips.Count()), delivery.SourceAPI)
	r.must(err)
	receipt, err := r.attempt(job.ID)
	r.must(err)
	if receipt.State != lifecycle.DeliveryDelivered {
		r.Errorf("the job is %s", receipt.State)
	}
}

// attempt runs the activity for a job.
func (r *rig) attempt(job int64) (receipt activities.Receipt, err error) {
	r.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(r.activities.Deliver)
	result, err := env.ExecuteActivity(r.activities.Deliver, lifecycle.DeliveryExecution{JobID: job})
	if err != nil {
		return receipt, err
	}
	return receipt, result.Get(&receipt)
}

// storage has one file, whose hash is its content.
type storage struct {
	content string
	asked   func() // called on each query; nil: nothing
}

func (s *storage) Stat(context.Context, string) (yandex.Item, error) {
	if s.asked != nil {
		s.asked()
	}
	return yandex.Item{Name: s.content, Size: int64(len(s.content)), SHA256: s.content}, nil
}

func (s *storage) Open(context.Context, string, int64) (*yandex.Download, error) {
	return &yandex.Download{Body: io.NopCloser(strings.NewReader(s.content)), Size: int64(len(s.content))}, nil
}

// telegram accepts every document that it does not refuse.
type telegram struct {
	uploads, repeats int
	read             int          // by their path in the shared folder
	noFolder         string       // the answer of a server that cannot read it
	refuses          func() error // nil: nothing
	hangs            func(context.Context) error
	taken            func() // called with the last byte; nil: nothing
}

func (g *telegram) SendDocument(ctx context.Context, params *telego.SendDocumentParams) (*telego.Message, error) {
	if g.refuses != nil {
		return nil, g.refuses()
	}
	if g.hangs != nil {
		return nil, g.hangs(ctx)
	}

	message := &telego.Message{MessageID: 1, Document: &telego.Document{FileID: params.Document.FileID}}
	if strings.HasPrefix(params.Document.URL, "file:") {
		if g.noFolder != "" {
			return nil, &telegoapi.Error{ErrorCode: http.StatusBadRequest, Description: g.noFolder}
		}
		g.read++
		return message, nil
	}
	if params.Document.File == nil {
		g.repeats++
		return message, nil
	}

	content, err := io.ReadAll(params.Document.File)
	if err != nil {
		return nil, err
	}
	g.uploads++
	if g.taken != nil {
		g.taken()
	}
	message.Document.FileID = "file-" + string(content)
	return message, nil
}

// temporal starts every workflow, and accepts every signal: a lasting attempt notifies its workflow.
type temporal struct{ client.Client }

func (temporal) ExecuteWorkflow(
	context.Context, client.StartWorkflowOptions, any, ...any,
) (client.WorkflowRun, error) {
	return nil, nil
}

func (temporal) SignalWorkflow(context.Context, string, string, string, any) error { return nil }

func (temporal) DescribeWorkflowExecution(
	context.Context, string, string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{}, nil
}

// TestTheSpoolsDiskIsFull lets another program fill the disk of the temporary files: the attempt reports that, and a
// later one may succeed.
func TestTheSpoolsDiskIsFull(t *testing.T) {
	t.Parallel()
	disk := smalldisk.New(t, 1)
	r := newRig(t)
	spool, err := activities.NewSpool(filepath.Join(disk.Dir, "spool"), "", 1000, time.Hour, r.activities.Metrics.SpoolUsage)
	r.must(err)
	r.activities.Spool = spool
	job, _, err := r.deliveries.Request(t.Context(), r.user, r.file("content").ID, "key", delivery.SourceAPI)
	r.must(err)

	disk.Fill()
	_, err = r.attempt(job.ID)
	failure, ok := errors.AsType[*sdk.ApplicationError](err)
	if !ok || failure.Type() != string(fault.SpoolFull) || failure.NonRetryable() || !strings.Contains(failure.Error(), "disk of the folder for temporary files is full") {
		t.Errorf("the attempt ended with %v", err)
	}

	disk.Free()
	if state, err := r.attempt(job.ID); err != nil || state.State != lifecycle.DeliveryDelivered {
		t.Errorf("the next attempt ended with %+v, %v", state, err)
	}
}

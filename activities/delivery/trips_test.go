package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mymmrac/telego"
	"github.com/mymmrac/telego/telegoapi"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	activities "stagecoach/activities/delivery"
	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/yandex"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// TestTripsOfADelivery counts the round trips to PostgreSQL of a small file's delivery from the request to the receipt:
// one reads, one creates the job, one notes its workflow, one claims it, one begins to stream, one ends it.
func TestTripsOfADelivery(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.deliver(r.file("first")) // the connection gets to know the statements

	for _, content := range []string{"new", "new"} { // sent, and sent again by its file_id
		file := r.file(content)
		before, begun := r.trips.Count(), time.Now()
		r.deliver(file)
		progress := int(time.Since(begun) / time.Second) // a slow attempt also records its progress, at most once a second
		if trips := r.trips.Count() - before; trips < 6 || trips > 6+progress {
			t.Errorf("a delivery has cost %d round trips", trips)
		}
	}

	if r.telegram.uploads != 2 || r.telegram.repeats != 1 {
		t.Errorf("%d uploads, %d by file_id", r.telegram.uploads, r.telegram.repeats)
	}
}

// TestLostClaimSendsNothing gives the job to another attempt while its first one asks the storage: that one finds out
// with its next write, before the first byte.
func TestLostClaimSendsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	job, _, err := r.deliveries.Request(r.Context(), r.user, r.file("lost").ID, "key", delivery.SourceAPI)
	r.must(err)

	r.storage.asked = func() {
		_, err := r.store.Deliveries.Change(r.Context(), job.ID, func(walk *delivery.JobWalk) error {
			steps := service.DeliverySteps{JobWalk: walk}
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

// TestSentMeanwhile lets Telegram get the content from somebody else while an attempt waits out a rate limit: it sends no
// bytes then.
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

// TestALongRateLimitEndsTheTry gives the slot free when Telegram asks for a longer wait than an attempt waits out: the
// next try begins after it.
func TestALongRateLimitEndsTheTry(t *testing.T) {
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

// rig delivers small files through stubs of the storage, Telegram and Temporal.
type rig struct {
	*testing.T
	trips      *testdb.Trips
	store      *store.Store
	deliveries *service.Deliveries
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

	r.deliveries = &service.Deliveries{
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
	asked   func() // called with each question; nil: nothing
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

// telegram takes every document that it does not refuse.
type telegram struct {
	uploads, repeats int
	refuses          func() error // nil: nothing
}

func (g *telegram) SendDocument(_ context.Context, params *telego.SendDocumentParams) (*telego.Message, error) {
	if g.refuses != nil {
		return nil, g.refuses()
	}

	message := &telego.Message{MessageID: 1, Document: &telego.Document{FileID: params.Document.FileID}}
	if params.Document.File == nil {
		g.repeats++
		return message, nil
	}

	content, err := io.ReadAll(params.Document.File)
	if err != nil {
		return nil, err
	}
	g.uploads++
	message.Document.FileID = "file-" + string(content)
	return message, nil
}

// temporal starts every workflow, and takes every signal: an attempt that lasts notifies its workflow.
type temporal struct{ client.Client }

func (temporal) ExecuteWorkflow(
	context.Context, client.StartWorkflowOptions, any, ...any,
) (client.WorkflowRun, error) {
	return nil, nil
}

func (temporal) SignalWorkflow(context.Context, string, string, string, any) error { return nil }

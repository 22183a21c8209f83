package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
)

func TestMain(m *testing.M) { testdb.Main(&checkedRun{M: m}) }

// rig is a database with a user and a file.
type rig struct {
	*store.Store
	t    *testing.T
	url  string
	file delivery.File
	keys int
}

func newRig(t *testing.T) *rig {
	t.Helper()
	w := &rig{t: t, url: testdb.URL(t)}
	var err error
	w.Store, err = store.Open(t.Context(), w.url, testdb.Key)
	w.must(err)
	t.Cleanup(w.Close)
	files, err := w.Deliveries.SaveFiles(
		t.Context(), []delivery.File{{Path: "/a", Parent: "/", Name: "a", Size: 10, ModifiedAt: time.Now()}},
	)

	w.must(err)
	w.file = files[0]
	return w
}

func (w *rig) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *rig) user(telegramID int64) account.User {
	w.t.Helper()
	user, err := w.Accounts.CreateUser(w.t.Context(), account.User{TelegramID: &telegramID, Status: account.UserActive}, "")
	w.must(err)
	return user
}

func (w *rig) job(user account.User) delivery.Job {
	w.t.Helper()
	w.keys++
	job, _, err := w.Deliveries.Create(w.t.Context(), delivery.Job{
		IdempotencyKey: fmt.Sprintf("%064x", w.keys), UserID: user.ID, FileID: w.file.ID, FileName: "a", Size: 10,
		Source: delivery.SourceAPI,
	}, core.Event{Type: "enqueued", To: string(lifecycle.DeliveryQueued)})
	w.must(err)
	return job
}

// TestTokensAreSealed reads the tokens from the database itself, and opens them with the wrong key.
func TestTokensAreSealed(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	token := oauth2.Token{AccessToken: "plain-access", RefreshToken: "plain-refresh", Expiry: time.Now().Add(time.Hour)}
	_, err := w.Accounts.TokenStore("yandex").UpdateToken(
		t.Context(), func(context.Context, oauth2.Token) (*oauth2.Token, error) { return &token, nil },
	)

	w.must(err)
	got, err := w.Accounts.TokenStore("yandex").CurrentToken(t.Context())
	if err != nil || got.AccessToken != token.AccessToken || got.RefreshToken != token.RefreshToken || got.Expiry.Sub(token.Expiry).Abs() > time.Millisecond {
		t.Errorf("got %+v, %v", got, err)
	}

	var row string
	w.must(testdb.DB(t, w.url).QueryRow(
		t.Context(), `SELECT encode(access_token, 'escape') || encode(refresh_token, 'escape') FROM oauth_tokens`,
	).Scan(&row))
	if strings.Contains(row, "plain") {
		t.Error("a token lies open in the database")
	}

	other, err := store.Open(t.Context(), w.url, bytes.Repeat([]byte{8}, 32))
	w.must(err)
	defer other.Close()

	if _, err := other.Accounts.TokenStore("yandex").CurrentToken(t.Context()); err == nil || !strings.Contains(err.Error(), "STAGECOACH_ENCRYPTION_KEY") {
		t.Errorf("the wrong key gave %v", err)
	}
}

// TestSeedIsTakenOnce configures a token, rotates it, and starts again with the same and then with a new configuration.
func TestSeedIsTakenOnce(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	tokens := w.Accounts.TokenStore("yandex")
	for _, step := range []struct{ configured, rotated, want string }{
		{configured: "first", want: "first"},
		{rotated: "second", want: "second"},
		{configured: "first", want: "second"}, // a restart
		{configured: "renewed", want: "renewed"},
		{configured: "first", want: "renewed"}, // a process with the old configuration
	} {
		if step.rotated != "" {
			_, err := tokens.UpdateToken(t.Context(), func(context.Context, oauth2.Token) (*oauth2.Token, error) {
				return &oauth2.Token{AccessToken: "a", RefreshToken: step.rotated}, nil
			})
			w.must(err)
		} else {
			w.must(tokens.Seed(t.Context(), oauth2.Token{RefreshToken: step.configured}))
		}

		if got, err := tokens.CurrentToken(t.Context()); err != nil || got.RefreshToken != step.want {
			t.Fatalf("after %+v: %q, %v", step, got.RefreshToken, err)
		}
	}
}

// TestTokenIsRenewedByOne lets many renew at once: each sees what the previous one has saved.
func TestTokenIsRenewedByOne(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	renewals := 0
	var all sync.WaitGroup

	for range 10 {
		all.Go(func() {
			_, err := w.Accounts.TokenStore("yandex").UpdateToken(t.Context(), func(_ context.Context, current oauth2.Token) (*oauth2.Token, error) {
				if current.AccessToken != "" {
					return nil, nil
				}
				renewals++ // under the row's lock
				return &oauth2.Token{AccessToken: "fresh", RefreshToken: "next"}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}

	all.Wait()
	if renewals != 1 {
		t.Errorf("%d renewals", renewals)
	}
}

// TestOneAdminIsLeft lets administrators demote each other concurrently.
func TestOneAdminIsLeft(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	var admins []account.User
	for range 5 {
		admin, err := w.Accounts.CreateUser(t.Context(), account.User{Role: account.RoleAdmin, Status: account.UserActive}, "")
		w.must(err)
		admins = append(admins, admin)
	}

	var all sync.WaitGroup
	var refused atomic.Int64
	for i, admin := range admins {
		change := account.UserChange{Role: account.RoleUser}
		if i%2 == 0 {
			change = account.UserChange{Status: account.UserBlocked}
		}

		all.Go(func() {
			switch _, err := w.Accounts.ChangeUser(t.Context(), admin.ID, change); {
			case fault.CodeOf(err) == fault.LastAdmin:
				refused.Add(1)
			case err != nil:
				t.Error(err)
			}
		})
	}

	all.Wait()
	left, err := w.Accounts.Admins(t.Context())
	w.must(err)
	if len(left) != 1 || refused.Load() != 1 {
		t.Fatalf("%d administrators are left, %d changes were refused", len(left), refused.Load())
	}
	if _, err := w.Accounts.ChangeUser(t.Context(), left[0].ID, account.UserChange{Name: "the last one", Role: account.RoleAdmin}); err != nil {
		t.Error(err)
	}
}

// TestChangeJobIsAllOrNothing fails midway, and violates the record's own rules.
func TestChangeJobIsAllOrNothing(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	job := w.job(w.user(1))
	no := errors.New("no")
	_, err := w.Deliveries.Change(t.Context(), job.ID, func(walk *delivery.JobWalk) error {
		walk.Row.LastError = "x"
		return errors.Join(walk.Take(delivery.JobStep{Action: lifecycle.DeliveryActionFail}), no)
	})
	if !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}

	for name, wrong := range map[string]func(*delivery.JobWalk) error{
		"delivered without a message": func(w *delivery.JobWalk) error {
			return w.Take(delivery.JobStep{Action: lifecycle.DeliveryActionFindDelivered})
		},
		"failed without a reason": func(w *delivery.JobWalk) error { return w.Take(delivery.JobStep{Action: lifecycle.DeliveryActionFail}) },
		"held without a heartbeat": func(w *delivery.JobWalk) error {
			return w.Take(delivery.JobStep{Action: lifecycle.DeliveryActionClaim})
		},
		"a fourth try":     func(w *delivery.JobWalk) error { w.Row.Attempt = 4; w.Note("x"); return nil },
		"an unknown state": func(w *delivery.JobWalk) error { w.Row.State = "LOST"; w.Note("x"); return nil },
		// The schema would allow these two: only the table refuses them.
		"a state without a rule": func(w *delivery.JobWalk) error { w.Row.State = lifecycle.DeliveryCancelled; w.Note("x"); return nil },
		"what the table forbids": func(w *delivery.JobWalk) error {
			return w.Take(delivery.JobStep{Action: lifecycle.DeliveryActionHandOver})
		},
	} {
		_, err := w.Deliveries.Change(t.Context(), job.ID, wrong)
		if err == nil {
			t.Errorf("%s was written", name)
		}
	}

	after, err := w.Deliveries.ByID(t.Context(), job.ID)
	w.must(err)
	events, err := w.Notices.EventsOf(t.Context(), "delivery", fmt.Sprint(job.ID))
	w.must(err)
	if after.State != lifecycle.DeliveryQueued || after.RowVersion != job.RowVersion || len(events) != 1 {
		t.Errorf("something was written: %+v, %d events", after, len(events))
	}
	if _, err := w.Deliveries.Change(t.Context(), job.ID+1, nil); fault.CodeOf(err) != fault.DeliveryNotFound {
		t.Errorf("no such job: %v", err)
	}

	_, err = w.Deliveries.Change(t.Context(), job.ID, func(walk *delivery.JobWalk) error { // nothing is locked now
		walk.Row.LastError = "x"
		return walk.Take(delivery.JobStep{Action: lifecycle.DeliveryActionCancel})
	})

	w.must(err)
}

// TestSentFileComesWithTheReceipt stores the file_id with its change, or not at all.
func TestSentFileComesWithTheReceipt(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	job := w.job(w.user(1))
	sent := delivery.SentFile{SHA256: "sum", Size: 10, FileID: "file-1", Name: "a"}

	for _, refusal := range []error{errors.New("no"), nil} {
		_, err := w.Deliveries.Change(t.Context(), job.ID, func(walk *delivery.JobWalk) error {
			message := int64(7)
			walk.Row.MessageID, walk.Row.Sent = &message, &sent
			return errors.Join(walk.Take(delivery.JobStep{Action: lifecycle.DeliveryActionFindDelivered}), refusal)
		})
		if !errors.Is(err, refusal) {
			t.Fatal(err)
		}

		fileID, name, err := w.Deliveries.SentFile(t.Context(), sent.SHA256, sent.Size)
		w.must(err)
		if kept := fileID == sent.FileID && name == sent.Name; kept != (refusal == nil) {
			t.Errorf("after %v: %q, %q", refusal, fileID, name)
		}
	}
}

// TestEventsHaveNoGap follows the stream while many write, some of them slowly: every event arrives once, in an order
// that can be resumed anywhere.
func TestEventsHaveNoGap(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	user := w.user(1)
	const writers, jobs = 8, 25
	keys := make(chan int, writers*jobs)
	for i := range writers * jobs {
		keys <- 1000 + i
	}

	close(keys)
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for key := range keys {
				job, _, err := w.Deliveries.Create(t.Context(), delivery.Job{
					IdempotencyKey: fmt.Sprintf("%064x", key), UserID: user.ID, FileID: w.file.ID, FileName: "a", Size: 10,
					Source: delivery.SourceAPI,
				}, core.Event{Type: "enqueued", To: string(lifecycle.DeliveryQueued)})
				if err != nil {
					t.Error(err)
					return
				}

				_, err = w.Deliveries.Change(t.Context(), job.ID, func(walk *delivery.JobWalk) error {
					time.Sleep(time.Duration(key%7) * time.Millisecond) // commits out of the order of ids
					walk.Row.LastError = "x"
					return walk.Take(delivery.JobStep{Action: lifecycle.DeliveryActionCancel})
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}

	seen := map[int64]bool{}
	var cursor core.Cursor
	for deadline := time.Now().Add(wait.Patience); len(seen) < 2*writers*jobs && time.Now().Before(deadline); {
		events, err := w.Notices.EventsAfter(t.Context(), cursor, 7)
		w.must(err)
		for _, event := range events {
			if seen[event.ID] {
				t.Fatalf("event %d came twice", event.ID)
			}
			seen[event.ID] = true
			cursor = event.Cursor()
		}

		if again, err := core.ParseCursor(cursor.String()); err != nil || again != cursor {
			t.Fatalf("cursor %s reads as %v, %v", cursor, again, err)
		}
	}

	all.Wait()
	if len(seen) != 2*writers*jobs {
		t.Errorf("%d events, want %d", len(seen), 2*writers*jobs)
	}
}

// TestUnavailable distinguishes an outage from a mistake.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), "postgres://nobody@127.0.0.1:1/none", testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	if err := s.Operations.Ping(t.Context()); fault.CodeOf(err) != fault.StoreUnavailable {
		t.Errorf("no server: %v", err)
	}

	w := newRig(t)
	if _, err := w.Deliveries.ByID(t.Context(), 1); fault.CodeOf(err) != fault.DeliveryNotFound {
		t.Errorf("no row: %v", err)
	}

	w.must(w.Migrate(t.Context())) // idempotent
}

package store_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/task"
)

// quotaRig is a database with users, a workspace and an administrator's books.
type quotaRig struct {
	*rig
	boss, anna, bob account.User
	commons         int64
	books           []int64
}

func newQuotaRig(t *testing.T, books int) *quotaRig {
	t.Helper()
	w := newRig(t)
	boss, err := w.Accounts.CreateUser(t.Context(), account.User{Role: account.RoleAdmin, Status: account.UserActive}, "")
	w.must(err)
	rig := &quotaRig{rig: w, boss: boss, anna: w.user(200), bob: w.user(201)}
	rig.commons = rig.workspace(boss)

	for range books {
		book, err := w.Downloads.CreateBook(t.Context(), "A book", "", core.Request{UserID: boss.ID})
		w.must(err)
		rig.books = append(rig.books, book.ID)
	}
	return rig
}

func (r *quotaRig) workspace(owner account.User) int64 {
	r.t.Helper()
	made, err := r.Tasks.CreateWorkspace(r.t.Context(),
		task.Workspace{Name: "w", OwnerID: owner.ID, StatusDeadlines: task.DefaultStatusDeadlines()}, core.Request{UserID: owner.ID})
	r.must(err)
	return made.ID
}

// quotaCase is one kind of limited things.
type quotaCase struct {
	limit string
	// makes makes a user's thing by a key and returns its id; the same key returns the same thing.
	makes func(r *quotaRig, on *store.Store, user account.User, key int) (int64, error)
	count string // SQL: how many user $1 has
}

func quotaCases() []quotaCase {
	return []quotaCase{
		{
			limit: "deliveries",
			makes: func(r *quotaRig, on *store.Store, user account.User, key int) (int64, error) {
				job, _, err := on.Deliveries.Create(r.t.Context(), delivery.Job{
					IdempotencyKey: fmt.Sprintf("%032x%032x", user.ID, key), UserID: user.ID, FileID: r.file.ID, FileName: "a",
					Size: 10, Source: delivery.SourceAPI,
				}, core.Event{Type: "enqueued", To: string(lifecycle.DeliveryQueued)})
				return job.ID, err
			},
			count: `SELECT count(*) FROM jobs WHERE user_id = $1`,
		},
		{
			limit: "downloads",
			makes: func(r *quotaRig, on *store.Store, user account.User, key int) (int64, error) {
				job, _, err := on.Downloads.Create(r.t.Context(), download.Download{
					UserID: user.ID, BookID: r.books[key], MediaType: download.MediaText, Source: "magnet", SourceURL: "magnet:?",
					RequestKey: fmt.Sprint(key),
				}, core.Event{Type: "enqueued", To: string(lifecycle.DownloadQueued)})
				return job.ID, err
			},
			count: `SELECT count(*) FROM download_jobs WHERE user_id = $1`,
		},
		{
			limit: "downloads_per_day",
			makes: func(r *quotaRig, on *store.Store, user account.User, key int) (int64, error) {
				job, _, err := on.Downloads.Create(r.t.Context(), download.Download{
					UserID: user.ID, BookID: r.books[key], MediaType: download.MediaText, Source: "magnet", SourceURL: "magnet:?",
					RequestKey: fmt.Sprint(key),
				}, core.Event{Type: "enqueued", To: string(lifecycle.DownloadQueued)})
				return job.ID, err
			},
			count: `SELECT count(*) FROM download_jobs WHERE user_id = $1`,
		},
		{
			limit: "tasks",
			makes: func(r *quotaRig, on *store.Store, user account.User, key int) (int64, error) {
				made, _, err := on.Tasks.Create(r.t.Context(), r.commons, []task.NewTask{plainTask()},
					core.Event{Type: "created", To: string(lifecycle.TaskNew)}, core.Request{UserID: user.ID, Key: fmt.Sprint("task-", key), Asked: "a task"})
				if err != nil {
					return 0, err
				}
				return made[0].ID, nil
			},
			count: `SELECT count(*) FROM tasks WHERE creator_id = $1`,
		},
		{
			limit: "workspaces",
			makes: func(r *quotaRig, on *store.Store, user account.User, key int) (int64, error) {
				made, err := on.Tasks.CreateWorkspace(r.t.Context(), task.Workspace{Name: "w", OwnerID: user.ID, StatusDeadlines: task.DefaultStatusDeadlines()},
					core.Request{UserID: user.ID, Key: fmt.Sprint("workspace-", key), Asked: "a workspace"})
				return made.ID, err
			},
			count: `SELECT count(*) FROM workspaces WHERE owner_id = $1`,
		},
		{
			limit: "books",
			makes: func(r *quotaRig, on *store.Store, user account.User, key int) (int64, error) {
				book, err := on.Downloads.CreateBook(
					r.t.Context(), "A book", "", core.Request{UserID: user.ID, Key: fmt.Sprint("book-", key), Asked: "a book"},
				)
				return book.ID, err
			},
			count: `SELECT count(*) FROM books WHERE creator_id = $1`,
		},
	}
}

func plainTask() task.NewTask {
	return task.NewTask{Title: "A task", Visibility: task.Public, Priority: task.PriorityNormal, Labels: []string{}}
}

// number queries the database for a number.
func (w *rig) number(sql string, args ...any) (n int) {
	w.t.Helper()
	w.exec(`SELECT 1`) // connects
	w.must(testdb.DB(w.t, w.url).QueryRow(w.t.Context(), sql, args...).Scan(&n))
	return n
}

func wantQuota(t *testing.T, err error, limit string, maximum int) {
	t.Helper()
	refusal := fault.As(err)
	if refusal == nil || refusal.Code != fault.QuotaExceeded || refusal.Details["limit"] != limit || refusal.Details["maximum"] != maximum {
		t.Errorf("above the limit of %d %s: %v, %+v", maximum, limit, err, refusal)
	}
}

// TestQuotasHoldUnderRaces makes fifty things at once in two processes, each of which allows ten: ten exist afterwards.
// Existing things are returned even above the limit, and ended ones make room. Other users and administrators are
// unaffected.
func TestQuotasHoldUnderRaces(t *testing.T) {
	t.Parallel()
	const maximum, asked = 10, 50
	for _, c := range quotaCases() {
		t.Run(c.limit, func(t *testing.T) {
			t.Parallel()
			w := newQuotaRig(t, asked)
			other, err := store.Open(t.Context(), w.url, testdb.Key)
			w.must(err)
			t.Cleanup(other.Close)
			w.SetQuotas(core.Quotas{c.limit: maximum})
			other.SetQuotas(core.Quotas{c.limit: maximum})

			var refused atomic.Int64
			made := make([]int64, asked)
			var all sync.WaitGroup
			for key := range asked {
				all.Go(func() {
					var err error
					made[key], err = c.makes(w, []*store.Store{w.Store, other}[key%2], w.anna, key)
					if err != nil {
						wantQuota(t, err, c.limit, maximum)
						refused.Add(1)
					}
				})
			}

			all.Wait()
			if have := w.number(c.count, w.anna.ID); have != maximum || refused.Load() != asked-maximum {
				t.Errorf("%d %s of %d are there, %d were refused", have, c.limit, maximum, refused.Load())
			}

			for key, id := range made {
				again, err := c.makes(w, w.Store, w.anna, key)
				switch {
				case id != 0 && (err != nil || again != id):
					t.Errorf("asked again for what was made: %d, %v; want %d", again, err, id)
				case id == 0:
					wantQuota(t, err, c.limit, maximum)
				}
			}

			for key := range maximum + 1 {
				if _, err := c.makes(w, w.Store, w.boss, key); err != nil {
					t.Errorf("an administrator: %v", err)
				}
			}

			if _, err := c.makes(w, w.Store, w.bob, 0); err != nil {
				t.Errorf("somebody else: %v", err)
			}
		})
	}
}

// TestTheSameRequestAtTheLimit sends one request many times at once when there is room for one more: each gets the same
// thing.
func TestTheSameRequestAtTheLimit(t *testing.T) {
	t.Parallel()
	for _, c := range quotaCases() {
		t.Run(c.limit, func(t *testing.T) {
			t.Parallel()
			w := newQuotaRig(t, 1)
			w.SetQuotas(core.Quotas{c.limit: 1})

			ids := make([]int64, 20)
			errs := make([]error, len(ids))
			var all sync.WaitGroup
			for i := range ids {
				all.Go(func() { ids[i], errs[i] = c.makes(w, w.Store, w.anna, 0) })
			}

			all.Wait()
			for _, id := range ids {
				if id != ids[0] {
					t.Errorf("%d and %d were made by one request", ids[0], id)
				}
			}

			w.must(errors.Join(errs...))
		})
	}
}

// TestDownloadsOfADay lets a person and an agent of theirs request three downloads within a day: ended ones count,
// those of the previous day do not.
func TestDownloadsOfADay(t *testing.T) {
	t.Parallel()
	w := newQuotaRig(t, 9)
	w.SetQuotas(core.Quotas{"downloads_per_day": 3})
	agent, err := w.Accounts.CreateAgent(
		t.Context(), w.anna.ID, "agent", account.Token{Name: "first", Scopes: []account.Scope{account.ScopeRead}}, account.NewToken(),
	)
	w.must(err)
	makes := quotaCases()[slices.IndexFunc(quotaCases(), func(c quotaCase) bool { return c.limit == "downloads_per_day" })].makes
	ask := func(user account.User, book int) error {
		_, err := makes(w, w.Store, user, book)
		return err
	}

	for book, user := range []account.User{w.anna, agent, w.anna} {
		w.must(ask(user, book))
		w.exec(`UPDATE download_jobs SET status = 'failed', failure_reason = 'enqueue_failed', created_at_utc = now() - ($1 || ' hours')::interval
			WHERE status = 'queued'`, fmt.Sprint(20-book))
	}

	for _, user := range []account.User{w.anna, agent} {
		err := ask(user, 3)
		wantQuota(t, err, "downloads_per_day", 3)
		if wait := fault.As(err).RetryAfter; wait > 4*time.Hour || wait < 3*time.Hour {
			t.Errorf("to be repeated after %s", wait)
		}
	}
	w.must(ask(w.bob, 3))

	w.exec(`UPDATE download_jobs SET created_at_utc = now() - interval '25 hours' WHERE user_id = $1`, agent.ID)
	w.must(ask(agent, 4))
	wantQuota(t, ask(w.anna, 5), "downloads_per_day", 3)
}

// TestABatchOfTasksFitsOrNot counts all tasks of a graph; only live ones count.
func TestABatchOfTasksFitsOrNot(t *testing.T) {
	t.Parallel()
	w := newQuotaRig(t, 0)
	w.SetQuotas(core.Quotas{"tasks": 10})
	batch := func(n int) error {
		graph := make([]task.NewTask, n)
		for i := range graph {
			graph[i] = plainTask()
		}
		_, _, err := w.Tasks.Create(
			t.Context(), w.commons, graph, core.Event{Type: "created", To: string(lifecycle.TaskNew)},
			core.Request{UserID: w.anna.ID},
		)
		return err
	}

	wantQuota(t, batch(11), "tasks", 10)
	w.must(batch(8))
	wantQuota(t, batch(3), "tasks", 10)
	w.must(batch(2))
	wantQuota(t, batch(1), "tasks", 10)
	w.exec(
		`UPDATE tasks SET status = 'CANCELLED', finished_at = now(), status_deadline_at = NULL WHERE id IN (SELECT id FROM tasks LIMIT 4)`,
	)
	wantQuota(t, batch(5), "tasks", 10)
	w.must(batch(4))
}

// TestWhoIsAboveALimit lowers limits below what a user and an administrator have.
func TestWhoIsAboveALimit(t *testing.T) {
	t.Parallel()
	w := newQuotaRig(t, 5)
	for _, c := range quotaCases() {
		for key := range 3 {
			_, err := c.makes(w, w.Store, w.anna, key)
			w.must(err)
			_, err = c.makes(w, w.Store, w.boss, key)
			w.must(err)
		}
	}

	room := w.workspace(w.bob)
	w.must(w.Tasks.AddMember(t.Context(), w.bob.ID, room, w.anna.ID))
	w.must(w.Tasks.AddMember(t.Context(), w.bob.ID, room, w.boss.ID))

	for range 3 {
		w.must(w.token(w.anna, nil))
		w.must(w.token(w.boss, nil))
	}

	for range 3 {
		w.hook(w.anna)
		w.hook(w.boss)
	}

	for range 3 {
		for _, owner := range []account.User{w.anna, w.boss} {
			_, err := w.Accounts.CreateAgent(t.Context(), owner.ID, "agent", account.Token{Name: "first", Scopes: []account.Scope{account.ScopeRead}}, account.NewToken())
			w.must(err)
		}
	}

	w.SetQuotas(core.Quotas{"tasks": 2, "deliveries": 2, "downloads": 2, "downloads_per_day": 2, "workspaces": 2, "members": 2, "books": 3, "tokens": 2, "webhooks": 2, "agents": 2})
	above, err := w.Operations.AboveQuotas(t.Context(), 10)
	w.must(err)
	got := map[string]int64{}

	for _, a := range above {
		if wanted := map[bool]int64{true: w.bob.ID, false: w.anna.ID}[a.Limit == "members"]; a.UserID != wanted || a.Count != 3 || a.Maximum != 2 {
			t.Errorf("above a limit: %+v", a)
		}
		got[a.Limit]++
	}

	if want := map[string]int64{"tasks": 1, "deliveries": 1, "downloads": 1, "downloads_per_day": 1, "workspaces": 1, "members": 1, "tokens": 1, "webhooks": 1, "agents": 1}; !maps.Equal(got, want) {
		t.Errorf("above limits: %v, want %v", got, want)
	}

	w.SetQuotas(core.Quotas{})
	if above, err := w.Operations.AboveQuotas(t.Context(), 10); err != nil || len(above) != 0 {
		t.Errorf("without limits: %v, %v", above, err)
	}
}

// TestMembersOfAWorkspaceAreBounded adds users to one workspace at once.
func TestMembersOfAWorkspaceAreBounded(t *testing.T) {
	t.Parallel()
	const maximum = 5
	w := newQuotaRig(t, 0)
	room := w.workspace(w.anna)
	w.SetQuotas(core.Quotas{"members": maximum})
	people := make([]account.User, 20)
	for i := range people {
		people[i] = w.user(int64(300 + i))
	}

	errs := make([]error, len(people))
	var all sync.WaitGroup
	for i := range people {
		all.Go(func() { errs[i] = w.Tasks.AddMember(t.Context(), w.anna.ID, room, people[i].ID) })
	}

	all.Wait()
	members, err := w.Tasks.Members(t.Context(), w.boss, room, 0, 100)
	w.must(err)
	if len(members) != maximum {
		t.Errorf("%d members, want %d", len(members), maximum)
	}

	for i, err := range errs {
		again := w.Tasks.AddMember(t.Context(), w.anna.ID, room, people[i].ID)
		if err == nil && again != nil {
			t.Errorf("a member is let in again: %v", again)
		}
		if err != nil {
			wantQuota(t, err, "members", maximum)
			wantQuota(t, again, "members", maximum)
			w.must(w.Tasks.AddMember(t.Context(), w.boss.ID, room, people[i].ID))
		}
	}
}

// token makes a token of a user, which ends at a time.
func (w *rig) token(user account.User, ends *time.Time) error {
	_, err := w.Accounts.CreateToken(
		w.t.Context(), account.Token{UserID: user.ID, Name: "t", Scopes: []account.Scope{account.ScopeRead}, ExpiresAt: ends},
		account.NewToken(),
	)
	return err
}

// TestTokensOfAUserAreBounded makes twenty at once. Revoked and expired ones make room; administrators have no limit.
func TestTokensOfAUserAreBounded(t *testing.T) {
	t.Parallel()
	const maximum = 5
	w := newQuotaRig(t, 0)
	w.SetQuotas(core.Quotas{"tokens": maximum})

	errs := make([]error, 20)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = w.token(w.anna, nil) })
	}

	all.Wait()
	for _, err := range errs {
		if err != nil {
			wantQuota(t, err, "tokens", maximum)
		}
	}

	tokens, err := w.Accounts.Tokens(t.Context(), w.anna.ID, 0, 100)
	w.must(err)
	if len(tokens) != maximum {
		t.Fatalf("%d tokens", len(tokens))
	}

	_, err = w.Accounts.RevokeToken(t.Context(), w.anna.ID, tokens[0].ID, w.boss.ID)
	w.must(err)
	w.must(w.token(w.anna, nil))
	wantQuota(t, w.token(w.anna, nil), "tokens", maximum)
	w.exec(fmt.Sprintf(`UPDATE tokens SET expires_at = now() - interval '1 second' WHERE id = %d`, tokens[1].ID))
	w.must(w.token(w.anna, nil))
	wantQuota(t, w.token(w.anna, nil), "tokens", maximum)
	for range maximum + 1 {
		w.must(w.token(w.boss, nil))
	}

	w.must(w.token(w.bob, nil))
}

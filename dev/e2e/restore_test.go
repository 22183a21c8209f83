package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/dev/night"
	"stagecoach/dev/servers"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/toncenter"
)

// restoreRig is a rig with all four workloads, whose database can be backed up and restored.
type restoreRig struct {
	*library
	qbittorrent *standIn
	chain       *tonsim.TonCenter
	fragment    *tonsim.Fragment
	database    string // its URL
	orders      *transactions.Service
	ann         member
	reader      account.User
}

// newRestoreRig prepares a service without worker and API, on a migrated database of the test's own.
func newRestoreRig(t *testing.T, database string) *restoreRig {
	t.Helper()
	return newRestoreRigOn(t, database, newStandIn(t), nil)
}

// newRestoreRigOn is newRestoreRig with a simulated qBittorrent and settings.
func newRestoreRigOn(t *testing.T, database string, qbittorrent *standIn, settings map[string]string) *restoreRig {
	t.Helper()
	v := &restoreRig{qbittorrent: qbittorrent, database: database}
	all := map[string]string{"STAGECOACH_BOT": "false", "STAGECOACH_DELIVERY_PARALLEL": "2"}
	maps.Copy(all, settings)
	v.library = newLibraryOn(t, database, v.qbittorrent, all)

	v.startShop(tonsim.TonCenterOptions{Balance: -1})
	v.chain, v.fragment = v.ground.Chain, v.ground.Fragment
	v.orders = v.books()
	return v
}

// books compares the record of purchases with the chain and with Fragment.
func (l *library) books() *transactions.Service {
	l.Helper()
	view := toncenter.New(toncenter.Options{URL: l.ground.StandIns.TonCenter, RequestsPerSecond: 1000})
	wallet := l.shopWallet()
	return &transactions.Service{
		Temporal: l.client, Store: l.store, Log: slog.New(slog.DiscardHandler), Patience: 20 * time.Second,
		Balance: func(ctx context.Context, _ string) (int64, int64, error) {
			state, err := view.Wallet(ctx, wallet.Address())
			return int64(state.LastLT), int64(state.Balance), err
		},
	}
}

// admin runs statements on the server, outside the database.
func (v *restoreRig) admin(statements ...string) {
	v.Helper()
	u, err := url.Parse(v.database)
	must(v, err)
	name := pgx.Identifier{u.Path[1:]}.Sanitize()
	u.Path = "/postgres"
	conn, err := pgx.Connect(v.Context(), u.String())
	must(v, err)
	defer conn.Close(context.WithoutCancel(v.Context()))

	for _, statement := range statements {
		_, err := conn.Exec(v.Context(), strings.ReplaceAll(statement, "$DB", name))
		must(v, err)
	}
}

// crash kills the services as a power failure does, and closes the connections to the database.
func (v *restoreRig) crash() {
	v.Helper()
	for _, p := range []*program{v.worker, v.api} {
		if p != nil && !p.ended() {
			p.kill()
		}
	}
	v.store.Close()
	v.admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '` + strings.TrimPrefix(
		must1(url.Parse(v.database)).Path, "/",
	) + `'`)
}

func must1[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// setAside renames the database, like one that is lost but still readable, and puts an empty one in its place. It
// returns its new address.
func (v *restoreRig) setAside() string {
	v.Helper()
	v.admin(`ALTER DATABASE $DB RENAME TO lost`, `CREATE DATABASE $DB`)
	u, err := url.Parse(v.database)
	must(v, err)
	u.Path = "/lost"
	return u.String()
}

// reopen connects the test to the database again.
func (v *restoreRig) reopen() {
	v.Helper()
	var err error
	v.store, err = store.Open(v.Context(), v.database, testdb.Key)
	must(v, err)
	v.Cleanup(v.store.Close)
	v.deliveries.Store, v.downloads.Store, v.orders.Store = v.store, v.store, v.store
}

// starter runs a command with the services' settings.
func (v *restoreRig) starter(args ...string) string {
	v.Helper()
	must(v, buildStarter())
	command := exec.Command(filepath.Join(programs, "starter"), args...)
	for key, value := range v.env {
		command.Env = append(command.Env, key+"="+value)
	}

	out, err := command.CombinedOutput()
	if err != nil {
		v.Fatalf("starter %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// backup writes a backup, and returns how to restore it.
func (v *restoreRig) backup() (restore func()) {
	v.Helper()
	key, file := filepath.Join(v.TempDir(), "backup.key"), filepath.Join(v.TempDir(), "stagecoach.age")
	public := strings.TrimSpace(v.starter("backup-key", key))
	v.Logf("%s", v.starter("backup", file, "--to", public))
	return func() { v.Logf("%s", v.starter("restore", file, "--identity", key)) }
}

// pays sends TON with a comment to the wallet, and returns the hash of the order.
func (v *restoreRig) pays(comment string) string {
	v.Helper()
	hash, err := v.chain.Deposit(tonsim.Deposit{AmountNano: 1_000_000_000, Comment: comment})
	must(v, err)
	return hash
}

func (v *restoreRig) order(hash string) map[string]any {
	v.Helper()
	return v.call("GET", "/v1/transactions/"+hash, adminToken, nil).body
}

func (v *restoreRig) orderIs(hash string, what string, is func(map[string]any) bool) {
	v.Helper()
	var last map[string]any
	// A hold on purchases is probed after as long as it has lasted.
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if last = v.order(hash); last["hash"] != nil && is(last) {
			return
		}
		if time.Now().After(deadline) {
			v.Fatalf("order %.8s never %s: %v", hash, what, last)
		}
	}
}

func (v *restoreRig) processed(hash string) {
	v.Helper()
	v.orderIs(hash, "processed", func(o map[string]any) bool { return o["status"] == "processed" })
}

// bought lists what Fragment has sold, by username.
func (v *restoreRig) bought() map[string]tonsim.Purchase {
	v.Helper()
	listed, strays, err := v.fragment.Purchases(v.Context())
	must(v, err)
	sold := map[string]tonsim.Purchase{}

	for _, purchase := range listed {
		if _, twice := sold[purchase.Username]; twice {
			v.Errorf("Stars for %s were bought twice", purchase.Username)
		}
		sold[purchase.Username] = purchase
	}

	if len(strays) > 0 {
		v.Errorf("paid for nothing: %+v", strays)
	}
	return sold
}

// TestNightRestore restores the database of an earlier moment, at which all four workloads were active, while Temporal,
// Telegram, qBittorrent and the chain keep their state. No file is delivered twice, nothing is paid twice, and tasks
// and downloads continue from the record.
func TestNightRestore(t *testing.T) {
	t.Parallel()
	night.Only(t)
	v := newRestoreRig(t, testdb.URL(t))
	v.startWorker()
	v.startAPI()
	v.ann = v.member("Ann")
	leaver := v.member("Leaver")
	leaked := v.call("POST", "/v1/tokens", v.ann.token, map[string]any{"name": "leaks", "scopes": []string{"read"}}).want(t, http.StatusCreated)
	space := v.ann.workspace(map[string]any{})
	tasks := v.ann.batch(
		space, map[string]any{"ref": "open", "title": "Claimed later"}, map[string]any{"ref": "begun", "title": "Done later"},
	)

	v.ann.does("claim", tasks["begun"], "").want(t, http.StatusOK)
	v.reader = v.library.reader()
	running, late := v.unseeded("running.epub"), v.unseeded("late.epub")
	ending := v.downloading(v.ask(v.reader, running.URL))
	ask := downloads.Ask{BookID: v.book(v.reader).ID, MediaType: download.MediaText, SourceURL: late.URL}
	before := v.pays("before 50")
	v.processed(before)
	v.call("POST", "/v1/payments/pause", adminToken, map[string]any{"reason": "backup"})
	waiting := v.pays("waiting 50")
	v.orderIs(waiting, "waits", func(o map[string]any) bool { return o["status"] == "pending" })
	var people []account.User
	for chat := range int64(4) {
		people = append(people, v.user(300+chat))
	}

	file, sum := v.file("file.bin", 3000)
	big, _ := v.file("big.bin", 48<<20)
	v.ended(v.deliver(people[0], file))
	v.crash()
	v.reopen()
	queued, torn := v.deliver(people[1], file), v.deliver(people[2], big) // no worker runs yet
	restore := v.backup()

	// After the backup.
	v.slow(512 << 10)
	v.startWorker()
	v.startAPI()
	v.wantState(v.ended(queued), lifecycle.DeliveryDelivered, "")
	v.ann.does("claim", tasks["open"], "").want(t, http.StatusOK)
	v.ann.does("status", tasks["begun"], "DONE").want(t, http.StatusOK)
	lost := v.ann.batch(space, map[string]any{"ref": "lost", "title": "Made later"})["lost"]
	v.torrents.release(v.library, running)
	v.completes(ending)
	unknown, _, err := v.downloads.Start(t.Context(), v.reader, ask)
	must(t, err)
	v.added(unknown)
	v.call("POST", "/v1/payments/resume", adminToken, nil)
	v.processed(waiting)
	after := v.pays("after_it 50")
	v.processed(after)
	asked, _, err := v.deliveries.Request(t.Context(), people[3], file.ID, "asked-after", delivery.SourceAPI)
	must(t, err)
	v.wantState(v.ended(asked), lifecycle.DeliveryDelivered, "")
	for _, job := range []delivery.Job{queued, asked} { // Temporal knows it too
		must(t, v.client.GetWorkflow(t.Context(), job.WorkflowID(), "").Get(t.Context(), nil))
	}

	v.call("POST", "/v1/users/"+leaver.id+"/forget", adminToken, map[string]any{}).want(t, http.StatusOK)
	v.call("DELETE", "/v1/tokens/"+leaked["id"].(string), v.ann.token, nil).want(t, http.StatusNoContent)
	v.inState(torn, lifecycle.DeliveryStreaming) // a worker streams it at the crash
	sold := v.bought()

	v.crash()
	aside := v.setAside()
	restore()
	t.Logf("%s", v.starter("restored", "--lost-database", aside))
	v.reopen()
	v.telegram.ClearFaults()
	v.startWorker()
	v.startAPI()

	// What was revoked since the backup stays revoked.
	v.call("GET", "/v1/me", leaked["token"].(string), nil).want(t, http.StatusUnauthorized)
	v.call("GET", "/v1/me", leaver.token, nil).want(t, http.StatusUnauthorized)
	if about := v.call("GET", "/v1/users?limit=200", adminToken, nil); strings.Contains(fmt.Sprint(about.body), "Leaver") {
		t.Error("a forgotten person has a name again")
	}

	// Deliveries: those that are delivered according to Temporal are delivered.
	v.wantState(v.ended(queued), lifecycle.DeliveryDelivered, "")
	v.wantState(v.ended(torn), lifecycle.DeliveryFailed, string(fault.OutcomeUnknown))
	again, created, err := v.deliveries.Request(t.Context(), people[3], file.ID, "asked-after", delivery.SourceAPI)
	must(t, err)
	if !created || again.ID <= asked.ID {
		t.Errorf("asked again: job %d, new %v; want a new number after %d", again.ID, created, asked.ID)
	}

	v.wantState(v.reload(again), lifecycle.DeliveryDelivered, "") // its workflow has completed before
	for _, chat := range []int64{300, 301, 303} {
		v.wantDocument(chat, sum)
	}

	if got := v.documents(302); len(got) > 0 {
		t.Errorf("what nobody knew the fate of was sent again: %+v", got)
	}

	// Tasks: they have their old state, and continue from it.
	v.ann.does("claim", tasks["open"], "").want(t, http.StatusOK)
	v.ann.does("status", tasks["begun"], "DONE").want(t, http.StatusOK)
	v.call("GET", "/v1/tasks/"+lost, v.ann.token, nil).want(t, http.StatusNotFound)
	fresh := v.ann.batch(space, map[string]any{"ref": "fresh", "title": "Made at last"})["fresh"]
	if fresh == lost {
		t.Errorf("task %s was another one", fresh)
	}

	v.ann.does("claim", fresh, "").want(t, http.StatusOK)
	wait.Eventually(v, "the lost task's workflow is gone", func() bool {
		return len(v.listed(`WorkflowId="task/`+lost+`" AND ExecutionStatus="Running"`)) == 0
	})

	// Downloads: the torrents are found again.
	v.completes(ending)
	found, created, err := v.downloads.Start(t.Context(), v.reader, ask)
	must(t, err)
	if !created || found.ID <= unknown.ID {
		t.Errorf("asked again: download %d, new %v", found.ID, created)
	}

	v.added(found)
	v.torrents.release(v.library, late)
	if job := v.over(found); job.State != lifecycle.DownloadCompleted {
		t.Errorf("%+v", job)
	}

	// Purchases: both that the lost payments may belong to need a review; neither is paid again.
	v.call("POST", "/v1/payments/resume", adminToken, nil)
	for _, hash := range []string{waiting, after} {
		v.orderIs(hash, "needs review", func(o map[string]any) bool {
			return o["needs_review"] == true && o["review_reason"] == transaction.ReviewLost
		})
	}

	for hash, username := range map[string]string{waiting: "waiting", after: "after_it"} {
		v.call("POST", "/v1/transactions/"+hash+"/resolve", adminToken,
			map[string]any{"outcome": "processed", "payment": sold[username].Hash, "comment": "Fragment lists it"}).want(t, http.StatusOK)
	}

	v.processed(v.pays("at_last 50"))
	if now := v.bought(); len(now) != 4 {
		t.Errorf("bought for %v", now)
	}

	var list []transactions.FragmentPurchase
	for _, p := range v.bought() {
		list = append(
			list,
			transactions.FragmentPurchase{Username: p.Username, Stars: p.Stars, PaidNano: p.PaidNano, PaymentHash: p.Hash, At: p.At},
		)
	}

	var report transactions.LedgerReport
	wait.Eventually(v, "the record is up to date with the chain", func() bool {
		report, err = v.orders.Reconcile(t.Context(), list)
		return err == nil && report.Chain
	})
	if len(report.Differences) > 0 {
		t.Errorf("%+v", report.Differences)
	}
}

// TestNightTemporalLost loses Temporal's state: tasks and downloads continue from the record, and what may have been
// sent is not sent again.
func TestNightTemporalLost(t *testing.T) {
	t.Parallel()
	night.Only(t)
	v := newRestoreRig(t, testdb.URL(t))
	v.startWorker()
	v.startAPI()
	v.ann = v.member("Ann")
	task := v.ann.batch(v.ann.workspace(map[string]any{}), map[string]any{"ref": "one", "title": "Goes on"})["one"]
	v.ann.does("claim", task, "").want(t, http.StatusOK)
	made := v.unseeded("goes-on.epub")
	ending := v.downloading(v.ask(v.library.reader(), made.URL))
	file, sum := v.file("file.bin", 3000)
	v.wantState(v.ended(v.deliver(v.user(400), file)), lifecycle.DeliveryDelivered, "")
	bought := v.pays("before 50")
	v.processed(bought)
	v.crash()
	v.reopen()
	queued := v.deliver(v.user(401), file)

	v.temporal.Kill()
	address := v.temporal.Address
	_, digits, err := net.SplitHostPort(address)
	must(t, err)
	port, err := strconv.Atoi(digits)
	must(t, err)
	empty := servers.TemporalOptions{Port: port, UIPort: -1}
	v.temporal, err = v.ground.StartTemporal(t.Context(), empty)
	must(t, err)
	if v.temporal.Address != address {
		t.Fatalf("the empty Temporal is at %s, the lost one was at %s", v.temporal.Address, address)
	}

	v.starter("restored", "--temporal-only")
	v.startWorker()
	v.startAPI()
	v.ann.does("status", task, "DONE").want(t, http.StatusOK)
	v.torrents.release(v.library, made)
	v.completes(ending)
	v.wantState(v.ended(queued), lifecycle.DeliveryFailed, string(fault.OutcomeUnknown))
	v.wantDocument(400, sum)
	if got := v.documents(401); len(got) > 0 {
		t.Errorf("sent: %+v", got)
	}

	v.processed(v.pays("after_it 50"))
	if sold := v.bought(); len(sold) != 2 {
		t.Errorf("bought for %v", sold)
	}
}

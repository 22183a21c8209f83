package e2e

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"

	"stagecoach/dev/race"
	"stagecoach/dev/servers"
	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/sim/yandexsim"
	"stagecoach/dev/stack"
	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/ton"
)

// Secrets and names that must not appear in a log, a history or a response.
const (
	botToken     = "7000000001:AAplantedBotTokenplantedBotToken012"
	clientSecret = "planted-client-secret"
	refreshToken = "planted-refresh-token"
	adminToken   = "sc_planted-admin-token-of-the-tests"

	qbittorrentPassword = "planted-qbittorrent-password"
)

var programs string // where TestMain built worker and api

func TestMain(m *testing.M) {
	if os.Getenv(naiveWorker) != "" {
		os.Exit(runNaiveWorker())
	}
	dir, err := os.MkdirTemp("", "stagecoach-e2e-")
	if err != nil {
		panic(err)
	}
	programs = dir
	testdb.Main(m, testtemporal.Stop, func() { os.RemoveAll(dir) })
}

var (
	buildPrograms = sync.OnceValue(func() error {
		return stack.Programs{Dir: programs, Race: race.Enabled}.Build(context.Background(), "worker", "api")
	})
	buildStarter = sync.OnceValue(func() error {
		return stack.Programs{Dir: programs}.Build(
			context.Background(), "starter",
		)
	})
	buildDev = sync.OnceValue(func() error {
		return stack.Programs{Dir: programs}.Build(
			context.Background(), "dev", "starter",
		)
	})
)

// rig is one complete Stagecoach of a test's own.
type rig struct {
	testing.TB
	store      *store.Store
	temporal   *servers.Temporal // nil: a cluster
	client     client.Client
	deliveries *deliveries.Service
	ground     *stack.Ground
	telegram   *telegramsim.Server
	yandex     *yandexsim.Server
	files      string // the storage's folder
	chats      string // the simulated Telegram's folder
	env        map[string]string
	apiURL     string
	worker     *program
	api        *program

	log     *logBuffer
	answers *seen
	killed  *atomic.Int64 // processes that a test has killed and started again
}

// newRig starts everything; settings are environment variables in addition to the usual ones. The API runs only after
// startAPI. Other tests use the Temporal server afterwards: a test that stops it, or needs it in its usual namespace,
// uses newRigOn.
func newRig(t testing.TB, settings map[string]string) *rig {
	t.Helper()
	needsServers(t)
	server, namespace := testtemporal.Namespace(t)
	return newRigIn(t, testdb.URL(t), server.Temporal, namespace, settings)
}

// needsServers skips a test in a run of only fast ones.
func needsServers(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("end to end tests need PostgreSQL and Temporal")
	}
}

// newRigOn is newRig with a given migrated database and a Temporal server of the test's own.
func newRigOn(t testing.TB, database string, settings map[string]string) *rig {
	t.Helper()
	return newRigIn(t, database, startTemporal(t), client.DefaultNamespace, settings)
}

// startTemporal starts a Temporal server for a test.
func startTemporal(t testing.TB, dynamic ...string) *servers.Temporal {
	t.Helper()
	needsServers(t)
	return testtemporal.Own(t, dynamic...).Temporal
}

// newRigIn is newRigOn in a namespace of its own of a Temporal server that others may use too.
func newRigIn(
	t testing.TB, database string, temporal *servers.Temporal, namespace string, settings map[string]string,
) *rig {
	t.Helper()
	t.Cleanup(func() {
		select {
		case <-temporal.Done():
			t.Log("the Temporal server does not run")
		default:
		}
	})

	ground := newGround(t)
	ground.DatabaseURL, ground.Temporal, ground.Namespace = database, temporal.Address, namespace
	s := newRigFrom(t, ground, settings)
	s.temporal = temporal
	return s
}

// newRigFrom is newRigIn with the PostgreSQL and the Temporal of a ground.
func newRigFrom(t testing.TB, ground *stack.Ground, settings map[string]string) *rig {
	t.Helper()
	must(t, buildPrograms())
	s := &rig{TB: t, ground: ground, env: map[string]string{}, log: &logBuffer{}, answers: &seen{}, killed: &atomic.Int64{}}
	namespace := cmp.Or(ground.Namespace, client.DefaultNamespace)
	s.ground.Key, s.ground.AdminToken = testdb.Key, adminToken

	s.files, s.chats = t.TempDir(), t.TempDir()
	must(t, s.ground.StartTelegram(telegramsim.Options{
		Dir: s.chats, Token: botToken, SharedDir: settings["STAGECOACH_TELEGRAM_SHARED_DIR"],
	}))
	must(t, s.ground.StartYandex(yandexsim.Options{
		Dir: s.files, ClientID: "client", ClientSecret: clientSecret, RefreshToken: refreshToken, TokenTTL: time.Hour,
	}))
	s.telegram, s.yandex = s.ground.Telegram, s.ground.Yandex

	var err error
	s.client, err = client.Dial(client.Options{
		HostPort: ground.Temporal, Namespace: namespace, Logger: slog.New(slog.DiscardHandler),
	})

	must(t, err)
	t.Cleanup(s.client.Close)
	_, err = temporalio.EnsureSearchAttributes(t.Context(), s.client, namespace)
	must(t, err)

	s.store, err = store.Open(t.Context(), ground.DatabaseURL, testdb.Key)
	must(t, err)
	t.Cleanup(s.store.Close)
	s.deliveries = &deliveries.Service{
		Temporal: s.client, Store: s.store, MaxFileSize: 2097152000, CancelPatience: 3 * time.Second,
		Log: slog.New(slog.DiscardHandler),
	}

	apiPort, err := servers.FreePort()
	must(t, err)
	s.apiURL = fmt.Sprintf("http://127.0.0.1:%d", apiPort)
	maps.Copy(s.env, s.ground.Settings())
	maps.Copy(s.env, map[string]string{
		"STAGECOACH_LOG_LEVEL":               "debug",
		"STAGECOACH_ADMIN_IDS":               "1",
		"STAGECOACH_API_ADDR":                fmt.Sprintf("127.0.0.1:%d", apiPort),
		"STAGECOACH_WORKER_METRICS_ADDR":     "off",
		"STAGECOACH_API_METRICS_ADDR":        "off",
		"STAGECOACH_LISTING_TTL":             "0s",
		"STAGECOACH_DELIVERY_RETRY_INTERVAL": "100ms",
	})

	for name, value := range settings {
		s.env[name] = value
	}

	t.Cleanup(func() {
		s.tellsNothing("the logs", s.log.String(), "planted", "Bearer ", "OAuth ", "magnet:")
		// a token consists of random letters, and may contain any short word
		s.tellsNothing("the answers", s.answers.text.String(), ".go:", "/pgx/", "failed to connect", "SQLSTATE", "dial tcp",
			botToken, clientSecret, refreshToken, adminToken, qbittorrentPassword)
		if t.Failed() {
			t.Logf("the services warn:\n%s", s.log.warnings(20_000))
			t.Logf("their logs end:\n%s", s.log.tail(6000))
		}
	})

	return s
}

// tellsNothing fails the test if a text contains one of these, case-insensitively.
func (s *rig) tellsNothing(where, text string, secrets ...string) {
	s.Helper()
	lower := strings.ToLower(text)
	for _, secret := range secrets {
		if at := strings.Index(lower, strings.ToLower(secret)); at >= 0 {
			s.Errorf("%s tell %q: …%s…", where, secret, text[max(0, at-200):min(len(text), at+100)])
		}
	}
}

// newGround returns a ground whose parts are stopped when the test ends.
func newGround(t testing.TB) *stack.Ground {
	ground := &stack.Ground{}
	t.Cleanup(func() { _ = ground.Close() })
	return ground
}

// startShop starts a chain with a wallet of the rig's own and a Fragment, and configures the rig's programs for them.
func (s *rig) startShop(chain tonsim.TonCenterOptions) {
	s.Helper()
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	must(s, s.ground.StartShop(s.Context(), stack.ShopOptions{Seed: seed, Chain: chain}))
	maps.Copy(s.env, s.ground.StandInSettings())
	maps.Copy(s.env, map[string]string{
		"STAGECOACH_TX_POLL_INTERVAL": "100ms",
		"STAGECOACH_TX_PAYMENT_TTL":   "1m", "STAGECOACH_TX_FINALITY_MARGIN": "1s",
	})
}

// shopWallet returns the wallet whose key the rig's programs hold.
func (s *rig) shopWallet() *ton.Wallet {
	s.Helper()
	key, err := ton.ParseKey(s.env["STAGECOACH_TON_KEY"])
	must(s, err)
	wallet, err := ton.NewWallet(key, ton.Mainnet)
	must(s, err)
	return wallet
}

// startWorker runs a worker process, in addition to any that are already running.
func (s *rig) startWorker() *program {
	s.Helper()
	s.worker = s.start("worker")
	return s.worker
}

// runningWorkers counts the workers that have started.
func (s *rig) runningWorkers() int { return strings.Count(s.log.String(), `"worker started"`) }

// startAPI runs the API process and waits until it is ready.
func (s *rig) startAPI() {
	s.Helper()
	s.api = s.start("api")
	s.awaitReady(s.apiURL)
}

// awaitReady waits until the API at base is ready.
func (s *rig) awaitReady(base string) {
	s.Helper()
	wait.Eventually(s, "the API is ready", func() bool {
		answer, err := http.Get(base + "/ready")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

// program is a running process of ours.
type program struct{ *stack.Child }

// start runs one of our programs with the rig's settings.
func (s *rig) start(name string) *program {
	s.Helper()
	return s.runs(stack.Programs{Dir: programs}.Start(name, s.env, s.log))
}

// run starts the program at path with the rig's settings.
func (s *rig) run(path string) *program {
	s.Helper()
	return s.runs(stack.Programs{Dir: filepath.Dir(path)}.Start(filepath.Base(path), s.env, s.log))
}

// launch starts a command whose output goes to the rig's log.
func (s *rig) launch(command *exec.Cmd) *program {
	s.Helper()
	command.Stdout, command.Stderr = s.log, s.log
	return s.runs(stack.Launch(command))
}

// runs registers a started process; it is killed at the end of the test if it still runs.
func (s *rig) runs(process *stack.Child, err error) *program {
	s.Helper()
	must(s, err)
	p := &program{process}
	s.Cleanup(p.kill)
	return p
}

func (p *program) kill() { p.Kill() }
func (p *program) stop() { p.Stop() }

// ended reports whether the process has ended.
func (p *program) ended() bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// user makes an active user with a Telegram chat.
func (s *rig) user(telegramID int64) account.User {
	s.Helper()
	user, err := s.store.Accounts.CreateUser(
		s.Context(), account.User{TelegramID: &telegramID, Name: "Planted Name", Status: account.UserActive}, "",
	)
	must(s, err)
	// a chat exists after its user's first message; a running bot creates a user for it
	s.telegram.SendMessage(telegramID, "hello")
	return user
}

// file puts a file of random bytes into the storage and returns its entry and sha256.
func (s *rig) file(name string, size int) (delivery.File, string) {
	s.Helper()
	content := make([]byte, size)
	rand.Read(content)
	return s.fileWith(name, content)
}

func (s *rig) fileWith(name string, content []byte) (delivery.File, string) {
	s.Helper()
	must(s, os.WriteFile(filepath.Join(s.files, name), content, 0o644))
	sum := sha256.Sum256(content)
	saved, err := s.store.Deliveries.SaveFiles(s.Context(), []delivery.File{{
		Path: "/" + name, Parent: "/", Name: name, Size: int64(len(content)), ModifiedAt: time.Now(),
	}})
	must(s, err)
	return saved[0], hex.EncodeToString(sum[:])
}

var (
	nonces    int64
	nonceLock sync.Mutex
)

func nonce() string {
	nonceLock.Lock()
	defer nonceLock.Unlock()
	nonces++
	return strconv.FormatInt(nonces, 10)
}

// deliver requests a delivery.
func (s *rig) deliver(user account.User, file delivery.File) delivery.Job {
	s.Helper()
	job, created, err := s.deliveries.Request(s.Context(), user, file.ID, nonce(), delivery.SourceAPI)
	must(s, err)
	if !created {
		s.Fatal("a fresh nonce gave an old job")
	}
	return job
}

// ended waits for a job's end.
func (s *rig) ended(job delivery.Job) delivery.Job {
	s.Helper()
	wait.Eventually(s, fmt.Sprintf("job %d ends", job.ID), func() bool {
		job = s.reload(job)
		return lifecycle.Delivery.Terminal(job.State)
	})
	return job
}

// reload reads a job again; it waits until an outage is over.
func (s *rig) reload(job delivery.Job) delivery.Job {
	s.Helper()
	must(s, core.RetryWhileUnavailable(s.Context(), func() error {
		found, err := s.store.Deliveries.ByID(s.Context(), job.ID)
		if err == nil {
			job = found
		}
		return err
	}))
	return job
}

// wantState fails the test unless the job ended in state with that last error.
func (s *rig) wantState(job delivery.Job, state lifecycle.DeliveryState, lastError string) {
	s.Helper()
	if job.State != state || job.LastError != lastError {
		s.Fatalf("job %d is %s with error %q, want %s with %q", job.ID, job.State, job.LastError, state, lastError)
	}
}

// documents lists the documents that a chat has received from the bot.
func (s *rig) documents(chat int64) []telegramsim.Document {
	var found []telegramsim.Document
	for _, message := range s.telegram.Chat(chat).Messages {
		if message.Document != nil {
			found = append(found, *message.Document)
		}
	}
	return found
}

// wantDocument fails the test unless the chat contains exactly one document, with this content.
func (s *rig) wantDocument(chat int64, sum string) {
	s.Helper()
	got := s.documents(chat)
	if len(got) != 1 || got[0].SHA256 != sum {
		s.Fatalf("chat %d has documents %+v, want exactly one with sha256 %s", chat, got, sum)
	}
}

// events lists the types of a job's events.
func (s *rig) events(job delivery.Job) []string {
	s.Helper()
	events, err := s.store.Notices.EventsOf(s.Context(), "delivery", strconv.FormatInt(job.ID, 10))
	must(s, err)
	var types []string
	for _, event := range events {
		types = append(types, event.Type)
	}
	return types
}

// temporalCLI runs the real temporal binary against the rig's server. A busy server may not respond: a read is retried
// after any error, a write only after one that has changed nothing.
func (s *rig) temporalCLI(args ...string) string {
	s.Helper()
	reads := slices.ContainsFunc(args[:min(3, len(args))], func(word string) bool {
		return slices.Contains([]string{"query", "describe", "describe-version", "metadata", "list", "show"}, word)
	})
	args = append(
		args, "--address", s.temporal.Address, "--namespace", s.env["TEMPORAL_NAMESPACE"], "--command-timeout", "1m",
	)

	for deadline := time.Now().Add(wait.Patience); ; time.Sleep(time.Second) {
		out, err := exec.Command(s.temporal.Binary, args...).CombinedOutput()
		switch {
		case err == nil:
			return string(out)
		case !reads && !strings.Contains(string(out), "Workflow is busy"), time.Now().After(deadline):
			s.Fatalf("temporal %v: %v\n%s", args, err, out)
		}
	}
}

// listed returns the workflow ids of an operator's query.
func (s *rig) listed(query string) []string {
	s.Helper()
	var rows []struct {
		Execution struct{ WorkflowID string } `json:"execution"`
	}
	must(s, json.Unmarshal([]byte(s.temporalCLI("workflow", "list", "--query", query, "--output", "json")), &rows))
	var ids []string
	for _, row := range rows {
		ids = append(ids, row.Execution.WorkflowID)
	}
	return ids
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// logBuffer keeps what the services log.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *logBuffer) tail(n int) string {
	text := b.String()
	return text[max(0, len(text)-n):]
}

// warnings returns the last n bytes of what is a warning or worse.
func (b *logBuffer) warnings(n int) string {
	var found strings.Builder
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, `"level":"WARN"`) || strings.Contains(line, `"level":"ERROR"`) {
			found.WriteString(line)
		}
	}
	text := found.String()
	return text[max(0, len(text)-n):]
}

// sql runs statements in the service's database that the product does not have, and returns the number of rows of the
// last one.
func (s *rig) sql(statements string, args ...any) (rows int64) {
	s.Helper()
	db, err := pgx.Connect(s.Context(), s.ground.DatabaseURL)
	must(s, err)
	defer db.Close(context.WithoutCancel(s.Context()))
	tag, err := db.Exec(s.Context(), statements, args...)
	must(s, err)
	return tag.RowsAffected()
}

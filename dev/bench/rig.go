package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/dev/bench/fill"
	"stagecoach/dev/servers"
	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/sim/yandexsim"
	"stagecoach/dev/stack"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
)

const (
	botToken    = "7000000001:AAbenchBotTokenBenchBotTokenBench01"
	accessToken = "bench-access-token"
	adminToken  = "sc_bench-admin-token-of-these-benches"
)

// rig is one complete Stagecoach for measurements. Its Temporal server is its own, empty and in memory, because a
// server slows as it fills. Simulators and worker each run in their own process.
type rig struct {
	*machine
	ground     stack.Ground
	temporal   *servers.Temporal
	client     client.Client
	deliveries *deliveries.Service
	tasks      *tasks.Service
	files      string // the storage's folder
	apiURL     string
	worker     *process
	bare       *process // the worker of a baseline
}

// rigOptions are the differences from the usual rig.
type rigOptions struct {
	telegram telegramsim.Options
	yandex   yandexsim.Options
	settings map[string]string // of the worker

	storageTLS bool // the storage speaks TLS
}

// withRig builds a rig, lets fn use it and stops it.
func (m *machine) withRig(ctx context.Context, o rigOptions, fn func(*rig) error) (err error) {
	r := &rig{machine: m, ground: stack.Ground{
		DatabaseURL: m.postgres.URL, Key: m.key, AdminToken: adminToken, Apart: startApart,
	}}
	defer func() {
		if err != nil && r.worker != nil {
			err = fmt.Errorf("%w\nthe worker's log:\n%s", err, r.worker.log)
		}
		err = errors.Join(err, r.close())
	}()

	if err := r.start(ctx, o); err != nil {
		return err
	}
	return fn(r)
}

// takeTurns alternately builds rigs for ours, each with the settings of its worker, and rigs with the worker of a
// baseline for bare. Each rig is new, because an in-memory server slows as it fills.
func (m *machine) takeTurns(ctx context.Context, settings map[string]string, ours, bare func(*rig) error) error {
	for range rigRounds {
		if err := m.withRig(ctx, rigOptions{settings: settings}, ours); err != nil {
			return err
		}
		err := m.withRig(ctx, rigOptions{}, func(r *rig) error {
			if err := r.startBareWorker(); err != nil {
				return err
			}
			return bare(r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) start(ctx context.Context, o rigOptions) (err error) {
	if err := r.startStandIns(o); err != nil {
		return err
	}
	if r.temporal, err = r.ground.StartTemporal(ctx, servers.TemporalOptions{UIPort: -1}); err != nil {
		return err
	}
	if r.client, err = dialTemporal(ctx, r.temporal.Address); err != nil {
		return err
	}

	quiet := slog.New(slog.DiscardHandler)
	r.deliveries = &deliveries.Service{Temporal: r.client, Store: r.store, MaxFileSize: 2_097_152_000, Log: quiet}
	r.tasks = &tasks.Service{Temporal: r.client, Store: r.store, Log: quiet, Patience: time.Minute}
	return r.startWorker(ctx, o.settings)
}

// dialTemporal connects as the API and the worker do; the baseline's worker uses it too.
func dialTemporal(ctx context.Context, address string) (client.Client, error) {
	options := client.Options{HostPort: address, Logger: slog.New(slog.DiscardHandler)}
	options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	return client.DialContext(ctx, options)
}

func (r *rig) startStandIns(o rigOptions) error {
	serial := strconv.FormatInt(r.serial.Add(1), 10)
	r.files = filepath.Join(r.dir, "disk"+serial)
	o.yandex.Dir, o.yandex.AccessToken = r.files, accessToken
	o.telegram.Dir, o.telegram.Token = filepath.Join(r.dir, "chats"+serial), botToken

	if err := r.ground.StartTelegram(o.telegram); err != nil {
		return err
	}
	if o.storageTLS {
		r.ground.Apart = startBehindTLS
	}
	return r.ground.StartYandex(o.yandex)
}

func (r *rig) startWorker(ctx context.Context, settings map[string]string) (err error) {
	r.worker, err = r.startProgram(ctx, "worker", settings, `"worker started"`)
	return err
}

// startAPI runs the HTTP API alone; the caller stops it.
func (r *rig) startAPI(ctx context.Context, settings map[string]string) (*process, error) {
	port, err := servers.FreePort()
	if err != nil {
		return nil, err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	r.apiURL = "http://" + addr
	settings["STAGECOACH_API_ADDR"], settings["STAGECOACH_BOT"] = addr, "false"
	return r.startProgram(ctx, "api", settings, `"API listening"`)
}

// startProgram runs one of our programs and waits until it logs that it is ready.
func (r *rig) startProgram(
	ctx context.Context, name string, settings map[string]string, ready string,
) (*process, error) {
	all := r.ground.Settings()
	all["STAGECOACH_WORKER_METRICS_ADDR"], all["STAGECOACH_API_METRICS_ADDR"] = "127.0.0.1:0", "127.0.0.1:0"
	maps.Copy(all, settings)

	p := &process{log: &logTail{}}
	var err error
	if p.Child, err = r.programs.Start(name, all, p.log); err != nil {
		return nil, err
	}
	if err := p.awaitLog(ctx, ready); err != nil {
		p.stop()
		return nil, fmt.Errorf("%w\nits log:\n%s", err, p.log)
	}

	return p, nil
}

func (r *rig) close() error {
	for _, p := range []*process{r.worker, r.bare} {
		if p != nil {
			p.stop()
		}
	}

	if r.client != nil {
		r.client.Close()
	}

	if r.temporal != nil {
		r.temporal.Kill() // nothing of it is kept
	}
	return errors.Join(r.ground.Close(), os.RemoveAll(r.files))
}

// user creates an active user with a chat.
func (r *rig) user(ctx context.Context) (account.User, error) {
	id := 1000 + r.serial.Add(1)
	if err := post(ctx, fmt.Sprintf("%s/_/users/%d/messages", r.ground.StandIns.Telegram, id), map[string]string{"text": "hello"}); err != nil {
		return account.User{}, err
	}
	return r.store.Accounts.CreateUser(ctx, account.User{TelegramID: &id, Name: "Bench", Status: account.UserActive}, "")
}

// request requests a delivery.
func (r *rig) request(ctx context.Context, user account.User, file delivery.File) (delivery.Job, error) {
	nonce := strconv.FormatInt(r.serial.Add(1), 10)
	job, _, err := r.deliveries.Request(ctx, user, file.ID, nonce, delivery.SourceAPI)
	return job, err
}

// await waits until the job's workflow has completed, which means that the file was delivered.
func (r *rig) await(ctx context.Context, job delivery.Job) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := r.client.GetWorkflow(ctx, job.WorkflowID(), "").Get(ctx, nil); err != nil {
		return fmt.Errorf("job %d was not delivered: %w", job.ID, err)
	}
	return nil
}

// warmUp delivers a few bytes, so that no figure includes the first connections.
func (r *rig) warmUp(ctx context.Context) error {
	user, err := r.user(ctx)
	if err != nil {
		return err
	}

	file, _, err := r.randomFile(ctx, 1024)
	if err != nil {
		return err
	}

	job, err := r.request(ctx, user, file)
	if err != nil {
		return err
	}
	return r.await(ctx, job)
}

// post sends JSON to a simulator.
func post(ctx context.Context, url string, body any) error {
	return send(ctx, http.MethodPost, url, body, nil)
}

// send sends JSON with any method and decodes the response, unless into is nil.
func send(ctx context.Context, method, url string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	return answer(request, into)
}

// answer makes a request and decodes the response, unless into is nil.
func answer(request *http.Request, into any) error {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()

	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s answered %s", request.Method, request.URL.Path, response.Status)
	}
	if into == nil {
		return nil
	}

	return json.NewDecoder(response.Body).Decode(into)
}

// machine is what all figures share: the built programs, PostgreSQL, and a folder for all files of a run.
type machine struct {
	dir      string
	programs stack.Programs // worker and api
	key      []byte         // encrypts tokens in the record
	shared   stack.Ground   // of all figures
	postgres *servers.Postgres
	store    *store.Store
	progress io.Writer
	serial   atomic.Int64 // numbers users, files and requests over the whole run
}

// say reports the progress of a long figure.
func (m *machine) say(format string, args ...any) {
	fmt.Fprintf(m.progress, "\n  %s  "+format, append([]any{time.Now().UTC().Format(time.TimeOnly)}, args...)...)
}

// record is the database of all figures.
func (m *machine) record() fill.Record {
	return fill.Record{URL: m.postgres.URL, Store: m.store, Say: m.say}
}

func newMachine(ctx context.Context, progress io.Writer) (m *machine, err error) {
	m = &machine{key: make([]byte, 32), progress: progress}
	rand.Read(m.key)
	if m.dir, err = os.MkdirTemp("", "stagecoach-bench-"); err != nil {
		return m, err
	}
	if err := os.Chmod(m.dir, 0o755); err != nil { // PostgreSQL may run as another user, who needs access
		return m, err
	}

	m.programs = stack.Programs{Dir: filepath.Join(m.dir, "programs")}
	if err := m.programs.Build(ctx, "worker", "api"); err != nil {
		return m, err
	}
	if m.postgres, err = m.shared.StartPostgres(ctx, servers.PostgresOptions{Dir: filepath.Join(m.dir, "postgres")}); err != nil {
		return m, err
	}
	if m.store, err = store.Open(ctx, m.postgres.URL, m.key); err != nil {
		return m, err
	}

	return m, m.store.Migrate(ctx)
}

func (m *machine) close() error {
	if m.store != nil {
		m.store.Close()
	}
	return errors.Join(m.shared.Close(), os.RemoveAll(m.dir))
}

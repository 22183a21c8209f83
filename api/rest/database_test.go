package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stagecoach/api/rest"
	"stagecoach/api/rest/server"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wire"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/internal/store/notice"
)

// TestADemotedDatabase leaves the API with a read-only server after a failover.
func TestADemotedDatabase(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	set := func(setting string) {
		t.Helper()
		// Sessions keep the setting with which they began.
		for _, statement := range []string{
			`DO $$BEGIN EXECUTE format('ALTER DATABASE %I ` + setting + `', current_database()); END$$`,
			`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
		} {
			if _, err := w.db.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
	}

	set("SET default_transaction_read_only = on")
	w.becomesReady(http.StatusServiceUnavailable)
	a := w.send("", "GET", "/ready", nil).refused(http.StatusServiceUnavailable, fault.StoreUnavailable, "")
	if details := a.body["details"].(map[string]any); details["postgres"] != false || details["temporal"] != true {
		t.Errorf("details %v", details)
	}
	task := map[string]any{"title": "Write"}
	w.send(w.adaToken, "POST", "/v1/tasks", task).refused(http.StatusServiceUnavailable, fault.StoreUnavailable, "")

	if _, err := w.db.Exec(t.Context(), `SET default_transaction_read_only = off`); err != nil {
		t.Fatal(err)
	}
	set("RESET default_transaction_read_only")
	w.becomesReady(http.StatusOK)
}

// TestAFullDisk fills the database's disk: reads work, and the service explains why writes are refused.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	url, disk := testdb.OnSmallDisk(t)
	w := newRigOn(t, url, func(*rest.Options) {})
	const full = "the disk of the database is full"
	shows := func(kind string, open int) {
		t.Helper()
		served := httptest.NewRecorder()
		w.measures.Handler().ServeHTTP(served, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		if line := fmt.Sprintf("alerts_open_current{kind=%q,severity=\"page\"} %d\n", kind, open); !strings.Contains(served.Body.String(), line) {
			t.Errorf("the metrics have no line %s", line)
		}
	}

	disk.Fill()
	w.becomesReady(http.StatusServiceUnavailable)
	for path, body := range map[string]any{"/ready": nil, "/v1/workspaces": object{"name": "Ours"}} {
		method := map[bool]string{true: "GET", false: "POST"}[body == nil]
		answer := w.send(w.adaToken, method, path, body).refused(http.StatusServiceUnavailable, fault.StoreUnavailable, "")
		if answer.body["detail"] != full {
			t.Errorf("%s: %v", path, answer.body)
		}
	}

	if err := w.store.Notices.RaiseAlert(t.Context(), notice.AlertStorageToken); fault.CodeOf(err) != fault.StoreUnavailable {
		t.Errorf("an incident was written: %v", err)
	}
	shows(notice.AlertStorageToken, 1)
	shows(notice.AlertNoWrites, 1)

	disk.Free()
	w.becomesReady(http.StatusOK)
	shows(notice.AlertNoWrites, 0)
	shows(notice.AlertStorageToken, 1)
	if incidents, err := w.store.Notices.Incidents(t.Context(), true, 0, 9); err != nil || len(incidents) != 1 || incidents[0].Kind != notice.AlertStorageToken {
		t.Errorf("incidents are %v, %v", incidents, err)
	}
	w.send(w.adaToken, "POST", "/v1/workspaces", object{"name": "Ours"}).ok(http.StatusCreated)
}

// TestAHangingDatabaseIsNotAwaited freezes PostgreSQL before it authenticates a token, and before it stores an audit
// entry.
func TestAHangingDatabaseIsNotAwaited(t *testing.T) {
	t.Parallel()
	line := wire.New(t, testdb.URL(t))
	s, err := store.Open(t.Context(), line.URL, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)

	ctx := context.WithoutCancel(t.Context())
	api := server.New(server.Config{Store: s})
	if _, err := api.Authenticate(ctx, "wrong"); fault.CodeOf(err) != fault.Unauthenticated {
		t.Fatal(err)
	}
	if err := s.Operations.Ping(ctx); err != nil { // which leaves an unreserved connection
		t.Fatal(err)
	}

	t.Cleanup(line.Hang())
	for what, do := range map[string]func() error{
		"a token":      func() error { _, err := api.Authenticate(ctx, "another"); return err },
		"an audit log": func() error { api.Done(ctx, ""); return fault.New(fault.StoreUnavailable, "") },
	} {
		ended := make(chan error, 1)
		go func() { ended <- do() }()
		select {
		case err := <-ended:
			if fault.CodeOf(err) != fault.StoreUnavailable {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s is awaited without a limit", what)
		}
	}
}

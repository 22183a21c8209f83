package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"stagecoach/dev/testdb"
	"stagecoach/internal/operations/liveness"
	"stagecoach/internal/store"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/yandex"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// TestKeepAlive runs a process, and requires it to count the rows and to raise the alerts about the service.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	record, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(record.Close)

	db := testdb.Connect(t, url)
	if _, err := db.Exec(t.Context(), `INSERT INTO users (telegram_id) VALUES (7);
		INSERT INTO workspaces (name, owner_id, status_deadlines) VALUES ('w', 1, '{}');
		INSERT INTO tasks (workspace_id, title, creator_id) VALUES (1, 'a title', 1);
		INSERT INTO reconciler_findings (workload, entity, workflow_id, finding) VALUES ('task', '1', 'task/1', 'stale')`); err != nil {
		t.Fatal(err)
	}

	away, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(away.Close)

	quiet := slog.New(slog.DiscardHandler)
	process := Connections{
		Store: record, Temporal: away, Log: quiet,
		tokens:   yandex.NewRotating(yandex.RotatingOptions{Store: record.Accounts.TokenStore(yandexTokens)}),
		Liveness: liveness.New(liveness.Options{Store: record.Operations, Identity: "1@h@api", Service: "api", Log: quiet}),
	}
	defer process.KeepAlive(t.Context())()

	for _, is := range []string{
		`SELECT count(*) FROM counts WHERE kind = 'task' AND key = 'NEW' AND n = 1`,
		`SELECT count(*) FROM alerts WHERE kind = '` + notice.AlertFindings + `'`,
	} {
		for n := 0; n == 0; time.Sleep(10 * time.Millisecond) {
			if err := db.QueryRow(t.Context(), is).Scan(&n); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestAStopWhileStarting ends a startup step as Main expects, whatever error the cancelled call returned.
func TestAStopWhileStarting(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	err := RetryWhileUnavailable(ctx, slog.New(slog.DiscardHandler), "Temporal", func() error {
		stop()
		return serviceerror.NewCanceled("context canceled")
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a stop while starting is the error %v", err)
	}
}

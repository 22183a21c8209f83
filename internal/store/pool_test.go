package store_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/dev/testdb"
	"stagecoach/dev/wire"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
)

// withTableLocked returns a store on the test's own database, and the connection that keeps a table locked.
func withTableLocked(t *testing.T, table string, pool core.Pool) (*store.Store, *pgx.Conn) {
	t.Helper()
	url := testdb.URL(t)
	s, err := store.OpenPool(t.Context(), url, pool, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Close)

	lock := testdb.Connect(t, url)
	if _, err := lock.Exec(t.Context(), `BEGIN; LOCK TABLE `+table); err != nil {
		t.Fatal(err)
	}
	return s, lock
}

// waitForLock waits until this many statements wait for a table.
func waitForLock(t *testing.T, conn *pgx.Conn, table string, statements int) {
	t.Helper()
	for waiting := 0; waiting < statements; time.Sleep(10 * time.Millisecond) {
		err := conn.QueryRow(
			t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = $1::text::regclass`, table,
		).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAdministratorsDoNotQueueBehindUsers lets users' statements take all their connections and wait for more.
func TestAdministratorsDoNotQueueBehindUsers(t *testing.T) {
	t.Parallel()
	s, lock := withTableLocked(t, "books", core.Pool{Connections: 5})

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{}, 20)
	for range cap(ended) {
		go func() { _, _ = s.Downloads.BookByID(ctx, 1); ended <- struct{}{} }()
	}

	waitForLock(t, lock, "books", 4) // all of the users' connections
	if _, err := s.Accounts.Users(core.Reserved(t.Context()), "", 0, 1); err != nil {
		t.Error(err)
	}

	cancel()
	for range cap(ended) {
		<-ended
	}
}

// TestStatementsHaveATimeOut makes one wait too long for a lock, and leaves a transaction idle for too long.
func TestStatementsHaveATimeOut(t *testing.T) {
	t.Parallel()
	s, _ := withTableLocked(
		t, "books", core.Pool{Connections: 5, Statement: time.Second, Idle: time.Second},
	)
	if _, err := s.Downloads.BookByID(t.Context(), 1); fault.CodeOf(err) != fault.StoreUnavailable {
		t.Errorf("a statement that waits for a lock: %v", err)
	}

	err := s.InTx(t.Context(), func(tx pgx.Tx) error {
		time.Sleep(3 * time.Second)
		_, err := tx.Exec(t.Context(), `SELECT 1`)
		return err
	})
	if fault.CodeOf(err) != fault.StoreUnavailable {
		t.Errorf("a transaction that does nothing: %v", err)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Errorf("a migration has no time-out: %v", err)
	}
}

// TestLongWorkHasNoTimeOut lets statements over whole tables wait for them for longer than the pool's statement limit.
func TestLongWorkHasNoTimeOut(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]struct {
		table string
		do    func(*store.Store) error
	}{
		"counts": {"jobs", func(s *store.Store) error {
			_, err := s.Operations.RefreshCounts(t.Context())
			return err
		}},
		"reseal": {"oauth_tokens", func(s *store.Store) error { _, err := s.Accounts.Reseal(t.Context()); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, lock := withTableLocked(t, work.table, core.Pool{Connections: 5, Statement: time.Second})
			ended := make(chan error, 1)
			go func() { ended <- work.do(s) }()

			waitForLock(t, lock, work.table, 1)
			time.Sleep(2 * time.Second)
			if _, err := lock.Exec(t.Context(), `ROLLBACK`); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				t.Errorf("ended early: %v", err)
			}
		})
	}
}

// TestConnectionsNameTheirProgram shows an operator to which program a PostgreSQL session belongs.
func TestConnectionsNameTheirProgram(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{"worker": "stagecoach worker", "": "stagecoach"} {
		config, err := core.Pool{Program: program}.Config(testdb.URL(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := pgx.ConnectConfig(t.Context(), config.ConnConfig)
		if err != nil {
			t.Fatal(err)
		}
		var name string
		err = conn.QueryRow(t.Context(), `SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()`).Scan(&name)
		_ = conn.Close(t.Context())
		if err != nil || name != want {
			t.Errorf("the sessions of %q are those of %q, %v; want %q", program, name, err, want)
		}
	}

	config, err := core.Pool{Program: "worker"}.Config("postgres://host/database?application_name=mine", nil)
	if err != nil || config.ConnConfig.RuntimeParams["application_name"] != "mine" {
		t.Errorf("a name in the address: %v, %v", config, err)
	}
}

// TestADemotedServer makes a server reject writes for a while, like one left behind by a failover.
func TestADemotedServer(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	operator := testdb.Connect(t, url)
	set := func(setting string) {
		t.Helper()
		_, err := operator.Exec(t.Context(), `DO $$BEGIN EXECUTE format('ALTER DATABASE %I `+setting+`', current_database()); END$$`)
		if err != nil {
			t.Fatal(err)
		}
	}

	set("SET default_transaction_read_only = on")
	s, err := store.OpenPool(t.Context(), url, core.Pool{Connections: 2}, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)

	writes := map[string]func() error{
		"check":          func() error { return s.Operations.Ping(t.Context()) },
		"reserved check": func() error { return s.Operations.Ping(core.Reserved(t.Context())) },
		"statement":      func() error { return s.Notices.RaiseAlert(t.Context(), notice.AlertQueue) },
		"transaction": func() error {
			return s.InTx(t.Context(), func(tx pgx.Tx) error {
				_, err := tx.Exec(t.Context(), `DELETE FROM answers`)
				return err
			})
		},
	}
	for name, write := range writes {
		if err := write(); fault.CodeOf(err) != fault.StoreUnavailable || !strings.Contains(err.Error(), "refuses writes") {
			t.Errorf("%s: %v", name, err)
		}
	}

	// A session keeps the setting with which it began, so only a new one sees this.
	set("RESET default_transaction_read_only")
	_ = s.Operations.Ping(t.Context()) // of the session that has only read
	for name, write := range writes {
		if err := write(); err != nil {
			t.Errorf("%s goes on with the connection to the demoted server: %v", name, err)
		}
	}
}

// TestAServerThatHangs freezes a server while one statement waits for its answer, and others connect.
func TestAServerThatHangs(t *testing.T) {
	t.Parallel()
	line := wire.New(t, testdb.URL(t))
	s, err := store.OpenPool(t.Context(), line.URL, core.Pool{Connections: 3}, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}

	began, frozen := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.InTx(context.WithoutCancel(t.Context()), func(tx pgx.Tx) error {
			close(began)
			<-frozen
			_, err := tx.Exec(context.WithoutCancel(t.Context()), `SELECT 1`)
			return err
		})
	}()
	<-began
	defer line.Hang()()
	close(frozen)

	ends := func(what string, do func()) {
		t.Helper()
		done := make(chan struct{})
		go func() { do(); close(done) }()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("%s does not end", what)
		}
	}

	ends("a new connection", func() {
		if err := s.Operations.Ping(t.Context()); fault.CodeOf(err) != fault.StoreUnavailable {
			t.Errorf("a new connection: %v", err)
		}
	})
	ends("Close", s.Close)
}

// TestRefusalsSayWhatIsWrong lets the server reject a statement for lack of something: the code stays, the words
// differ.
func TestRefusalsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := testdb.New(t)
	for code, words := range map[string]string{
		"53100": "disk of the database is full", "58030": "cannot use its disk", "53200": "no memory left",
		"53300": "no more connections", "25006": "refuses writes", "53400": "cannot be reached",
	} {
		err := s.InTx(t.Context(), func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), `DO $$BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '`+code+`'; END$$`)
			return err
		})
		if fault.CodeOf(err) != fault.StoreUnavailable || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// TestIncidentsThatCannotBeWritten keeps an incident that does not fit on the disk, and writes it with the next one.
func TestIncidentsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	url, disk := testdb.OnSmallDisk(t)
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	written := func(when string, want ...string) {
		t.Helper()
		var got []string
		incidents, err := s.Notices.Incidents(t.Context(), false, 0, 9)
		for _, incident := range incidents {
			got = append(got, incident.Kind)
		}
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", when, got, err)
		}
	}

	disk.Fill()
	for _, kind := range []string{notice.AlertQueue, notice.AlertFindings} {
		for range 2 {
			if err := s.Notices.RaiseAlert(t.Context(), kind); fault.CodeOf(err) != fault.StoreUnavailable {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
	_ = s.Notices.ResolveAlert(t.Context(), notice.AlertFindings)
	if kept := s.Notices.Unwritten(); len(kept) != 1 || kept[0].Kind != notice.AlertQueue || kept[0].OpenedAt.IsZero() {
		t.Errorf("in memory are %v", kept)
	}
	written("on a full disk")

	disk.Free()
	if err := s.Notices.RaiseAlert(t.Context(), notice.AlertNoWorker); err != nil {
		t.Fatal(err)
	}
	written("once there is room", notice.AlertQueue, notice.AlertNoWorker)
	if kept := s.Notices.Unwritten(); kept != nil {
		t.Errorf("in memory are still %v", kept)
	}
}

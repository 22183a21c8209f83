package servers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"stagecoach/dev/wait"
)

// helperDir, when set, makes the test program start servers in that folder and wait to be killed.
const helperDir = "STAGECOACH_TEST_DEV_HELPER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		helper(dir)
		return
	}
	os.Exit(m.Run())
}

func helper(dir string) {
	p, err := StartPostgres(context.Background(), PostgresOptions{Dir: dir, Fast: true})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}

	t, err := StartTemporal(context.Background(), TemporalOptions{UIPort: -1})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}

	torrents := 0 // no qBittorrent is installed
	if q, err := StartQBittorrent(context.Background(), QBittorrentOptions{Dir: filepath.Join(dir, "torrents")}); err == nil {
		torrents = q.process.cmd.Process.Pid
	}

	fmt.Println("started", p.process.cmd.Process.Pid, t.process.cmd.Process.Pid, torrents)
	time.Sleep(2 * wait.Patience) // the test kills it
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
	t.Cleanup(cancel)
	return ctx
}

// logBuffer is a log that a test can read while a server writes it.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

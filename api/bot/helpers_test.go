package bot

import (
	"bytes"
	"strconv"
	"sync"

	"stagecoach/dev/testdb"

	"github.com/mymmrac/telego"
)

func number64(n int64) string { return strconv.FormatInt(n, 10) }

// remove deletes a message, as the person could.
func (w *rig) remove(b *Bot, chat, message int64) {
	w.t.Helper()
	err := b.Telegram.DeleteMessage(
		w.t.Context(), &telego.DeleteMessageParams{ChatID: telego.ChatID{ID: chat}, MessageID: int(message)},
	)
	if err != nil {
		w.t.Fatal(err)
	}
}

// liveMessageState reads the state of a job's live message in the record.
func (w *rig) liveMessageState(job int64) (state string) {
	w.t.Helper()
	row := testdb.DB(w.t, w.wire.URL).QueryRow(w.t.Context(), `SELECT state FROM boards WHERE entity_id = $1`, job)
	if err := row.Scan(&state); err != nil {
		w.t.Fatal(err)
	}
	return state
}

// logBuffer is a log buffer for concurrent writers.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

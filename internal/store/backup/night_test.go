package backup_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"filippo.io/age"

	"stagecoach/dev/night"
	"stagecoach/internal/store/backup"
)

// TestNightMillionEvents backs up and restores a record with a million events, in little memory, and logs the duration.
func TestNightMillionEvents(t *testing.T) {
	t.Parallel()
	night.Only(t)
	r := newRig(t)
	r.fill()
	r.exec(`INSERT INTO events (workload, entity_id, seq, type, from_state, to_state, actor_id, owner_id)
		SELECT 'task', (n / 8)::text, n % 8, 'claim', 'NEW', 'IN_PROGRESS', n % 50 + 1, n % 50 + 1 FROM generate_series(8000, 1008000) n`)

	var most uint64
	sampled := time.Now()
	watch := func(string, int64, int64) {
		if time.Since(sampled) > 50*time.Millisecond {
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			most, sampled = max(most, stats.HeapAlloc), time.Now()
		}
	}

	name := r.file(nil)
	to, err := os.Create(name)
	r.must(err)
	defer to.Close()
	began := time.Now()
	m, err := backup.Write(t.Context(), r.url, to, []age.Recipient{r.key.Recipient()}, backup.Manifest{}, watch)
	r.must(err)
	wrote := time.Since(began)

	began = time.Now()
	result, err := r.open(name).Restore(t.Context(), r.empty(), watch)
	r.must(err)
	info, err := to.Stat()
	r.must(err)
	t.Logf("%d rows: %s to write %d MB, %s to restore, %d MB of memory", m.Rows(), wrote, info.Size()>>20, time.Since(began), most>>20)
	if result.Backup.Rows() < 1_000_000 || most > 64<<20 {
		t.Errorf("%d rows took %d MB of memory", result.Backup.Rows(), most>>20)
	}
}

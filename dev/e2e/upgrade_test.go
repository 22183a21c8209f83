package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/store/download"
)

// lastRelease is the commit to upgrade from. The schema of 1.0.0 starts over, so there is none before it: the test is
// skipped until 1.0.0 is released.
const lastRelease = ""

// buildLastRelease builds worker and api of that release, and returns their folder.
func buildLastRelease(t *testing.T) string {
	t.Helper()
	if lastRelease == "" {
		t.Skip("there is no release to upgrade from before 1.0.0")
	}
	if err := exec.Command("git", "cat-file", "-e", lastRelease+"^{commit}").Run(); err != nil {
		t.Skipf("the commit of the last release, %s, is not in this clone", lastRelease)
	}

	source := t.TempDir()
	root, err := filepath.Abs("../..")
	must(t, err)
	run := func(dir, command string) {
		t.Helper()
		sh := exec.Command("sh", "-c", command)
		sh.Dir = dir
		if out, err := sh.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}

	run(root, fmt.Sprintf("git archive %s | tar -x -C '%s'", lastRelease, source))
	run(source, "go build -buildvcs=false -ldflags='-s -w' -o programs/ ./worker ./api")
	return filepath.Join(source, "programs")
}

// TestVersionsUpgrade replaces the last release by this one as docs/upgrade.md says: first the schema, then each worker, then
// each API, while they are used. Earlier work continues, and nothing is lost or done twice.
func TestVersionsUpgrade(t *testing.T) {
	night.Only(t)
	t.Parallel()
	programsBefore := buildLastRelease(t)
	needsServers(t)
	must(t, buildPrograms())
	r := newRolling(t, testdb.Bare(t), programsBefore)

	// Only the last release: its schema, its rows, its workflows. This program's store cannot read them.
	before := r.member("Old Ann")
	space := before.workspace(map[string]any{"status_deadlines": map[string]any{"NEW": 0.2}})
	ids := before.batch(space,
		map[string]any{"ref": "expires", "title": "Nobody takes this"},
		map[string]any{"ref": "held", "title": "Somebody works on this"},
		map[string]any{"ref": "waits", "title": "This waits for it", "blocked_by": []string{"held"}},
	)

	before.does("claim", ids["held"], "").want(t, http.StatusOK)
	made := r.unseeded("before.epub")
	book := before.call(
		"POST", "/v1/books", before.token, map[string]any{"title": "Before"},
	).want(t, http.StatusCreated)["id"]

	row := before.call("POST", "/v1/downloads", before.token, map[string]any{
		"book_id": book, "media_type": "text", "source": "test", "source_url": made.URL,
	}).want(t, http.StatusCreated)["id"].(string)

	r.buy("before 50")
	r.ground.Fragment.AddFault(sim.Fault{Kind: "500", Times: 2})
	r.buy("between 50")

	must(t, r.store.Migrate(t.Context()))
	stop := r.use()
	time.Sleep(2 * time.Second)
	r.programs = programs
	r.restartAll()
	time.Sleep(2 * time.Second)
	stop()
	r.wantAllEnded()

	// The token, the torrent and the tasks of the last release.
	r.stand.release(r.library, made)
	r.completes(download.Download{ID: number(t, row)})
	before.does("status", ids["held"], "DONE").want(t, http.StatusOK)
	for ref, want := range map[string]string{"held": "DONE", "waits": "NEW", "expires": "STUCK"} {
		wait.Eventually(r, fmt.Sprintf("%s is %s", ref, want), func() bool {
			status := before.task(ids[ref])["status"]
			return status == want || ref == "waits" && status == "STUCK" // its own deadline may have passed
		})
	}

	if log := r.log.String(); strings.Contains(log, "TMPRL1100") || strings.Contains(log, "panic") {
		t.Error("a workflow of the last release cannot be replayed by this one, or something panics")
	}
}

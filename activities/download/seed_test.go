package download

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/download"
)

func TestSeedRules(t *testing.T) {
	t.Parallel()
	ratio, days := SeedRules{Ratio: 1.5}, SeedRules{Time: 48 * time.Hour}
	for name, c := range map[string]struct {
		rules SeedRules
		t     qbittorrent.Torrent
		want  bool
	}{
		"no rules":          {SeedRules{}, qbittorrent.Torrent{State: qbittorrent.Complete, Ratio: 9, Seeded: time.Hour}, false},
		"the ratio":         {ratio, qbittorrent.Torrent{State: qbittorrent.Complete, Ratio: 1.5}, true},
		"less":              {ratio, qbittorrent.Torrent{State: qbittorrent.Complete, Ratio: 1.4, Seeded: 99 * time.Hour}, false},
		"the days":          {days, qbittorrent.Torrent{State: qbittorrent.Complete, Seeded: 48 * time.Hour}, true},
		"either":            {SeedRules{9, time.Hour}, qbittorrent.Torrent{State: qbittorrent.Complete, Seeded: time.Hour}, true},
		"incomplete, again": {ratio, qbittorrent.Torrent{State: qbittorrent.Checking, Ratio: 9}, false},
	} {
		if got := c.rules.met(c.t); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestImportedForAll(t *testing.T) {
	t.Parallel()
	ended := map[int64]download.EndedDownload{
		1: {Status: lifecycle.DownloadCompleted, Imported: true, Place: 1},
		2: {Status: lifecycle.DownloadCompleted, Place: 1},
		3: {Status: lifecycle.DownloadFailed},
		4: {Status: lifecycle.DownloadCanceled, KeepFiles: true},
	}
	const live = 9
	for name, c := range map[string]struct {
		jobs []int64
		want bool
	}{
		"one":                 {[]int64{1}, true},
		"not imported":        {[]int64{2}, false},
		"one of two":          {[]int64{1, 2}, false},
		"beside a failed one": {[]int64{1, 3}, true},
		"failed alone":        {[]int64{3}, false},
		"its files are kept":  {[]int64{1, 4}, false},
		"a live one":          {[]int64{1, live}, false},
		"nobody's":            {nil, false},
	} {
		torrent := qbittorrent.Torrent{}
		for _, id := range c.jobs {
			torrent.Tags = append(torrent.Tags, download.Download{ID: id}.Tag())
		}
		if got := imported(torrent, ended); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestSeededTorrentsGo removes torrents that were seeded enough, some at a time, and no others.
func TestSeededTorrentsGo(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{})
	w.Sync.Settings.Seeds = SeedRules{Ratio: 2}
	full, little, state := 2.0, 1.0, "stalledUP"
	var going []string
	var jobs []download.Download
	for i := range tidyDeletes + 4 {
		job := w.added(magnet(i))
		w.end(job, lifecycle.DownloadActionComplete)
		w.exec(`UPDATE download_jobs SET imported = true WHERE id = $1`, job.ID)
		w.change(job, torrentsim.TorrentChange{State: &state, Ratio: &full})
		jobs, going = append(jobs, job), append(going, job.Tag())
	}

	less, kept, shared := jobs[0], jobs[1], jobs[2]
	w.change(less, torrentsim.TorrentChange{Ratio: &little})
	w.exec(`UPDATE download_jobs SET imported = false WHERE id = $1`, kept.ID)
	poll, _ := w.pollOnce() // they move to the done category
	w.must(poll.Err)
	w.added(magnet(2)) // another reader requests the same torrent

	sweep := func() (left int) {
		w.within(w.sweepSeeds)
		return len(w.qb.Torrents())
	}
	for i, want := range []int{4, 3, 3} {
		if left := sweep(); left != want {
			t.Errorf("sweep %d: %d torrents are left, want %d", i, left, want)
		}
	}

	for _, deletion := range w.qb.Deletions() {
		if !deletion.Files || slices.Contains(deletion.Tags, kept.Tag()) || !slices.Contains(going, deletion.Tags[0]) {
			t.Errorf("%+v", deletion)
		}
	}
	if tags := fmt.Sprint(w.qb.Tags()); len(w.qb.Tags()) != 4 {
		t.Errorf("tags: %s", tags)
	}
	if shared := w.torrent(shared.Tag()); shared == nil || shared.Category != "active" {
		t.Errorf("%+v", shared)
	}

	w.change(less, torrentsim.TorrentChange{Ratio: &full})
	if left := sweep(); left != 3 {
		t.Errorf("it looks more often than once an hour: %d are left", left)
	}
	w.Sync.seeded = time.Now().Add(-seedEvery)
	if left := sweep(); left != 2 {
		t.Errorf("%d are left", left)
	}
}

// TestTakenAgain leaves a torrent that another job has claimed since it was listed.
func TestTakenAgain(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{})
	state := "stalledUP"
	job := w.added(magnet(0))
	w.end(job, lifecycle.DownloadActionComplete)
	w.change(job, torrentsim.TorrentChange{State: &state})
	poll, _ := w.pollOnce()
	w.must(poll.Err)
	listed, err := w.rig.Torrents.ListDone(t.Context(), "text")
	w.must(err)
	w.added(magnet(0))
	w.within(func(ctx context.Context) { w.must(w.removeOne(ctx, listed[0])) })
	if len(w.qb.Torrents()) != 1 {
		t.Error("it is gone")
	}
}

// TestFailedImportIsNotReported leaves a workflow alone whose import waits for a person, and notifies it when one
// retries.
func TestFailedImportIsNotReported(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{})
	state := "stalledUP"
	job := w.added(magnet(0))
	w.change(job, torrentsim.TorrentChange{State: &state})
	w.wantHeard("at first", "complete")
	w.exec(`UPDATE download_jobs SET status = 'downloading', attention = 'import_failed' WHERE id = $1`, job.ID)
	w.wantHeard("failed")
	w.exec(`UPDATE download_jobs SET attention = '', row_version = row_version + 1 WHERE id = $1`, job.ID)
	w.wantHeard("repeated", "complete")
}

package download

import (
	"fmt"
	"testing"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/download"
)

// TestPlanTidy sorts torrents by how all of their jobs ended.
func TestPlanTidy(t *testing.T) {
	t.Parallel()
	ended := map[int64]download.EndedDownload{}
	for id, end := range map[int64]download.EndedDownload{
		1: {Status: lifecycle.DownloadCompleted},
		2: {Status: lifecycle.DownloadFailed},
		3: {Status: lifecycle.DownloadCanceled},
		4: {Status: lifecycle.DownloadCanceled, KeepFiles: true},
	} {
		end.ID, end.Place = id, 1
		ended[id] = end
	}

	const active = 9 // has not ended
	for name, c := range map[string]struct {
		jobs []int64
		want string // what is removed, stopped, finished; how many tags are dropped
	}{
		"nobody's":                {nil, "0 0 0 0"},
		"active":                  {[]int64{active}, "0 0 0 0"},
		"completed":               {[]int64{1}, "0 0 1 0"},
		"failed":                  {[]int64{2}, "0 1 1 1"},
		"canceled":                {[]int64{3}, "1 0 0 1"},
		"canceled and active":     {[]int64{3, active}, "0 0 0 0"},
		"canceled and completed":  {[]int64{3, 1}, "0 0 1 1"},
		"canceled and failed":     {[]int64{3, 2}, "0 1 1 2"},
		"canceled and files kept": {[]int64{3, 4}, "1 0 0 2"},
	} {
		torrent := qbittorrent.Torrent{}
		for _, id := range c.jobs {
			torrent.Tags = append(torrent.Tags, download.Download{ID: id}.Tag())
		}

		plan := planTidy([]qbittorrent.Torrent{torrent}, ended)
		if got := fmt.Sprint(len(plan.remove), len(plan.stop), len(plan.finish), len(plan.tags)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
		if keeps := name == "canceled and files kept"; len(plan.remove) > 0 && plan.remove[0].keepFiles != keeps {
			t.Errorf("%s: the files are kept %v", name, !keeps)
		}
	}

	var many []qbittorrent.Torrent
	for range tidyDeletes + 3 {
		many = append(many, qbittorrent.Torrent{Tags: []string{download.Download{ID: 3}.Tag()}})
	}
	if plan := planTidy(many, ended); len(plan.remove) != tidyDeletes || len(plan.tags) != tidyDeletes {
		t.Errorf("%d are removed, %d tags dropped at once; want %d", len(plan.remove), len(plan.tags), tidyDeletes)
	}
}

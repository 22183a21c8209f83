package download

import (
	"strings"
	"testing"
	"time"

	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
)

// TestDownloadLines has a case for each state of a download that a command waits for.
func TestDownloadLines(t *testing.T) {
	t.Parallel()
	eta := int64(125)
	now := time.Now()
	for want, d := range map[string]shape.Download{
		"waits for metadata":              {Status: lifecycle.DownloadQueued, WaitsFor: new(lifecycle.WaitsForMetadata)},
		"waits: PROVIDER_UNAVAILABLE":     {Status: lifecycle.DownloadQueued, LastError: new("PROVIDER_UNAVAILABLE")},
		"is being cancelled":              {Status: lifecycle.DownloadDownloading, CancelRequested: true},
		"not in qBittorrent now":          {Status: lifecycle.DownloadDownloading, FirstNotFoundAt: &now},
		"50 %  source 2 of 3  977 KB/s":   {Status: lifecycle.DownloadDownloading, Progress: 0.5, Speed: 1e6, SourcePlace: 2, Sources: make([]shape.DownloadSource, 3)},
		"99 %  2.4 MB/s, 2 min 05 s left": {Status: lifecycle.DownloadDownloading, Progress: 0.999, Speed: 2.5e6, ETASeconds: &eta},
		"████████████░░░░░░░░░░░░  50 %": {Status: lifecycle.DownloadDownloading, Progress: 0.5},
		"waits: NO_FREE_SPACE": {Status: lifecycle.DownloadDownloading, LastError: new("NO_FREE_SPACE")},
		"50 %  stalled":        {Status: lifecycle.DownloadDownloading, Progress: 0.5, Attention: new("stalled"), Speed: 1},
		"failed       book 4, text: enqueue_failed (X)":                {BookID: "4", MediaType: "text", Status: lifecycle.DownloadFailed, FailureReason: new("enqueue_failed"), LastError: new("X")},
		"enqueue_failed (TORRENT_ELSEWHERE: it is in the category tv)": {Status: lifecycle.DownloadFailed, FailureReason: new("enqueue_failed"), LastError: new("TORRENT_ELSEWHERE"), OtherCategory: new("tv")},
		"failed       a\ufffdb, text: provider_error":                  {BookTitle: "a\x1bb", MediaType: "text", Status: lifecycle.DownloadFailed, FailureReason: new("provider_error")},
		"canceled     On Wheels, text":                                 {BookTitle: "On Wheels", MediaType: "text", Status: lifecycle.DownloadCanceled},
	} {
		line := ProgressLine(d)
		if d.Ended() {
			line = ChangeLine(d)
		}
		if !strings.Contains(line, want) {
			t.Errorf("%q is not in %q", want, line)
		}
	}
}

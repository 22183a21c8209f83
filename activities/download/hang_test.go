package download

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/dev/night"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/testtemporal"
)

// hungTemporal is a Temporal whose first answer never comes.
type hungTemporal struct {
	client.Client
	*testtemporal.Hang
}

func (h hungTemporal) SignalWorkflow(ctx context.Context, _, _, _ string, _ any) error {
	return h.Call(ctx)
}

// TestNightHungDownloadSync lets the downloads' watcher wait for an answer that never comes.
func TestNightHungDownloadSync(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: time.Hour}})
	h := testtemporal.NewHang()
	w.added(magnet(1))
	w.Sync.Temporal = hungTemporal{Hang: h}
	h.WantTakeover(t, w.SyncDownloads)
}

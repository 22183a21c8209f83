package download

import (
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// RegisterFiles registers the activities that handle .torrent files with the worker of their queue.
func RegisterFiles(w worker.ActivityRegistry, downloads *Activities) {
	w.RegisterActivityWithOptions(downloads.FetchTorrent, activity.RegisterOptions{Name: "FetchTorrent"})
	w.RegisterActivityWithOptions(downloads.AddTorrent, activity.RegisterOptions{Name: "AddTorrent"})
}

package lifecycle

import (
	"time"

	"stagecoach/internal/fault"
)

// Attempt is the signal that reports to the workflow of a delivery an attempt that has not ended the job.
type Attempt struct {
	State  DeliveryState `json:"state"`
	Failed int           `json:"attempt"` // attempts that have failed
	Reason fault.Code    `json:"reason,omitempty"`
	NextAt *time.Time    `json:"next_at,omitempty"`
}

// The states of a torrent that the watcher reports to a workflow.
const (
	ObservedAbsent      = "absent"      // qBittorrent does not have it
	ObservedPresent     = "present"     // it has the torrent again, and the download has not begun
	ObservedDownloading = "downloading" //
	ObservedComplete    = "complete"    // all files are in place
	ObservedBroken      = "broken"      // in error: resuming it may help
	ObservedLost        = "lost"        // its files are gone
)

// Observation is the signal that reports a change of the torrent to its workflow.
type Observation struct {
	JobID int64  `json:"job_id"`
	State string `json:"state,omitempty"` // empty: no state was reported before the torrent stalled
	// Restarted says that qBittorrent has not shown the absent torrent since it started: a restart may have lost it.
	Restarted bool `json:"restarted,omitempty"`
	// Resumed says that the broken torrent was resumed before: this is another error, not the first one again.
	Resumed bool `json:"resumed,omitempty"`
	Stalled bool `json:"stalled,omitempty"` // no progress for a long time
	Place   int  `json:"place,omitempty"`   // of the source whose torrent was seen
	// Next says that the torrent has stood still for so long that the next source is due.
	Next bool `json:"next,omitempty"`
}

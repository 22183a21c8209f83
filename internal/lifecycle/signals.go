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
	Busy   time.Duration `json:"busy"` // time in workers' hands so far
}

// The states of a torrent that a workflow is told.
const (
	ObservedAbsent      = "absent"      // qBittorrent does not have it
	ObservedPresent     = "present"     // it has it again, and not begun
	ObservedDownloading = "downloading" //
	ObservedComplete    = "complete"    // all is in its place
	ObservedBroken      = "broken"      // in error: going on may help
	ObservedLost        = "lost"        // its files are gone
)

// Observation is the signal that tells a workflow of a change.
type Observation struct {
	JobID int64  `json:"job_id"`
	State string `json:"state,omitempty"` // empty: no state was reported before the torrent stalled
	// Restarted says of an absent torrent that this run of qBittorrent has never shown it: a restart may have lost it.
	Restarted bool `json:"restarted,omitempty"`
	// Resumed says of a broken torrent that it was resumed before: this is another error, not the first one again.
	Resumed bool `json:"resumed,omitempty"`
	Stalled bool `json:"stalled,omitempty"` // no progress for long
	Cancel  bool `json:"cancel,omitempty"`  // what stalls is to be cancelled
}

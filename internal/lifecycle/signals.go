package lifecycle

import (
	"time"

	"stagecoach/internal/fault"
)

// Attempt tells the workflow of a delivery how its attempts stand, after one that has not ended the job.
type Attempt struct {
	State  DeliveryState `json:"state"`
	Failed int           `json:"attempt"` // attempts that have failed
	Reason fault.Code    `json:"reason,omitempty"`
	NextAt *time.Time    `json:"next_at,omitempty"`
	Busy   time.Duration `json:"busy"` // time in workers' hands so far
}

// What a workflow is told of its torrent.
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
	State string `json:"state,omitempty"` // empty: nothing was worth telling yet, but that it stalls
	// Restarted says of an absent torrent that this run of qBittorrent has never had it: it may have been lost on the way.
	Restarted bool `json:"restarted,omitempty"`
	// Resumed says of a broken torrent that it was told to go on before: this is another error, not the same once more.
	Resumed bool `json:"resumed,omitempty"`
	Stalled bool `json:"stalled,omitempty"` // no progress for long
	Cancel  bool `json:"cancel,omitempty"`  // what stalls is to be cancelled
}

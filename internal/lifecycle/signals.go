package lifecycle

import (
	"time"

	"stagecoach/internal/fault"
)

// Attempt is the signal that reports to a delivery's workflow an attempt that did not end the job.
type Attempt struct {
	State  DeliveryState `json:"state"`
	Failed int           `json:"attempt"` // failed attempts
	Reason fault.Code    `json:"reason,omitempty"`
	NextAt *time.Time    `json:"next_at,omitempty"`
}

// The torrent states that the watcher reports to a workflow.
const (
	ObservedAbsent      = "absent"      // qBittorrent does not have it
	ObservedPresent     = "present"     // it has the torrent again, but the download has not begun
	ObservedDownloading = "downloading" //
	ObservedComplete    = "complete"    // all files are in place
	ObservedBroken      = "broken"      // in error: resuming may help
	ObservedTooLarge    = "too_large"   // it contains more than is allowed in a torrent
	ObservedLost        = "lost"        // its files are gone
)

// Observation is the signal that reports a torrent's change to its workflow.
type Observation struct {
	JobID int64  `json:"job_id"`
	State string `json:"state,omitempty"` // empty: no state was reported before the torrent stalled
	// Restarted means that qBittorrent has not shown the absent torrent since it started: a restart may have lost it.
	Restarted bool `json:"restarted,omitempty"`
	// Resumed means that the broken torrent was resumed before: this is another error, not the first one again.
	Resumed bool `json:"resumed,omitempty"`
	Stalled bool `json:"stalled,omitempty"` // no progress for a long time
	Stopped bool `json:"stopped,omitempty"` // by someone other than this service
	NoRoom  bool `json:"no_room,omitempty"` // the torrent is stopped until there is disk space
	// NoMetadata means that qBittorrent is still fetching the magnet link's metadata.
	NoMetadata bool `json:"no_metadata,omitempty"`
	Place      int  `json:"place,omitempty"` // of the source whose torrent was seen
	// Next means that the torrent has stalled for so long that the next source is due.
	Next bool `json:"next,omitempty"`
}

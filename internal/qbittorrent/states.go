package qbittorrent

import qbt "github.com/autobrr/go-qbittorrent"

// State is what a torrent's state means for its job.
type State string

// What a torrent's state may mean.
const (
	Waiting  State = "waiting"  // it has not begun, or is paused
	Active   State = "active"   // it is being downloaded
	Complete State = "complete" // all files are in place
	Checking State = "checking" // its files are being checked
	Broken   State = "broken"   // an error; resuming may help
	Lost     State = "lost"     // its files are gone
	Unknown  State = "unknown"  // a state of no version known here
)

// states maps the names of qBittorrent's versions.
var states = map[qbt.TorrentState]State{
	qbt.TorrentStateMetaDl:             Waiting,
	"forcedMetaDL":                     Waiting,
	qbt.TorrentStateQueuedDl:           Waiting,
	qbt.TorrentStatePausedDl:           Waiting,
	qbt.TorrentStateStoppedDl:          Waiting,
	qbt.TorrentStateCheckingResumeData: Waiting,
	qbt.TorrentStateAllocating:         Waiting,

	qbt.TorrentStateDownloading: Active,
	qbt.TorrentStateForcedDl:    Active,
	qbt.TorrentStateStalledDl:   Active,
	qbt.TorrentStateCheckingDl:  Active,
	qbt.TorrentStateMoving:      Active, // all data is there, but not in its place

	qbt.TorrentStateUploading: Complete,
	qbt.TorrentStateStalledUp: Complete,
	qbt.TorrentStateForcedUp:  Complete,
	qbt.TorrentStateQueuedUp:  Complete,
	qbt.TorrentStatePausedUp:  Complete,
	qbt.TorrentStateStoppedUp: Complete,

	qbt.TorrentStateCheckingUp:   Checking,
	qbt.TorrentStateError:        Broken,
	qbt.TorrentStateMissingFiles: Lost,
}

func stateOf(t qbt.Torrent) State {
	state, known := states[t.State]
	switch {
	case !known:
		return Unknown
	case state == Complete && (t.Progress < 1 || t.AmountLeft > 0 || t.ContentPath == ""):
		return Checking
	default:
		return state
	}
}

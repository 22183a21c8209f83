package lifecycle

// What an entity waits for: values of the search attribute WaitsFor, and of the API's field waits_for.
const (
	WaitsForSlot        = "slot"        // of a worker
	WaitsForStorage     = "storage"     // Yandex Disk
	WaitsForTelegram    = "telegram"    //
	WaitsForQBittorrent = "qbittorrent" // to take, download or remove the torrent
	WaitsForTorrent     = "torrent"     // which is missing
	WaitsForProgress    = "progress"    // of a torrent that stalls
	WaitsForClaim       = "claim"       // by any agent
	WaitsForTakeover    = "takeover"    // by any agent
	WaitsForAssignee    = "assignee"    //
	WaitsForBlockers    = "blockers"    //
	WaitsForPurchase    = "purchase"    // of an order, until the chain and Fragment have confirmed it
	WaitsForRefund      = "refund"      //
	WaitsForRetry       = "retry"       // at the time of the next try
	WaitsForOperator    = "operator"    //
)

// TaskWaitsFor is what a task waits for; empty: nothing. blocked: it cannot begin before other tasks are DONE.
func TaskWaitsFor(state TaskState, assigned, blocked bool) string {
	switch {
	case state == TaskNew && blocked:
		return WaitsForBlockers
	case state == TaskNew && !assigned:
		return WaitsForClaim
	case state == TaskNew, state == TaskInProgress, state == TaskBlocked:
		return WaitsForAssignee
	case state == TaskStuck:
		return WaitsForTakeover
	default:
		return ""
	}
}

// DownloadWaitsFor is what a download waits for; empty: nothing. ending: its torrent is to be removed.
func DownloadWaitsFor(state DownloadState, ending, missing, stalled bool) string {
	switch {
	case Download.Terminal(state):
		return ""
	case ending:
		return WaitsForQBittorrent
	case missing:
		return WaitsForTorrent
	case stalled:
		return WaitsForProgress
	default:
		return WaitsForQBittorrent
	}
}

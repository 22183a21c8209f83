package lifecycle

// What an entity waits for: values of the search attribute WaitsFor, and of waits_for in the API and the state query.
const (
	WaitsForSlot        = "slot"         // of a worker, or among the active downloads
	WaitsForNextAttempt = "next_attempt" // after a failed one, or because its worker is silent
	WaitsForStorage     = "storage"      // Yandex Disk
	WaitsForTelegram    = "telegram"     //
	WaitsForMetadata    = "metadata"     // of a magnet link
	WaitsForQBittorrent = "qbittorrent"  // to download or remove the torrent
	WaitsForSpace       = "space"        // on the disks of downloads and of the library
	WaitsForStart       = "start"        // of a torrent that was stopped in qBittorrent
	WaitsForTorrent     = "torrent"      // which is missing
	WaitsForPeers       = "peers"        // of a stalled torrent
	WaitsForImport      = "import"       // of a complete torrent's files into the library folder
	WaitsForClaim       = "claim"        // by any agent
	WaitsForTakeover    = "takeover"     // by any agent
	WaitsForAssignee    = "assignee"     //
	WaitsForBlockers    = "blockers"     //
	WaitsForReview      = "review"       // of a submission, by anyone but its author
	WaitsForPurchase    = "purchase"     // of an order, until the chain and Fragment have confirmed it
	WaitsForRefund      = "refund"       //
	WaitsForRetry       = "retry"        // at the time of the next attempt
	WaitsForOperator    = "operator"     //
)

package lifecycle

// What an entity waits for: values of the search attribute WaitsFor, and of the API's field waits_for.
const (
	WaitsForSlot        = "slot"        // of a worker
	WaitsForStorage     = "storage"     // Yandex Disk
	WaitsForTelegram    = "telegram"    //
	WaitsForQBittorrent = "qbittorrent" // to take, download or remove the torrent
	WaitsForTorrent     = "torrent"     // which is missing
	WaitsForProgress    = "progress"    // of a torrent that stalls
	WaitsForLibrary     = "library"     // to take the files of a complete torrent
	WaitsForClaim       = "claim"       // by any agent
	WaitsForTakeover    = "takeover"    // by any agent
	WaitsForAssignee    = "assignee"    //
	WaitsForBlockers    = "blockers"    //
	WaitsForPurchase    = "purchase"    // of an order, until the chain and Fragment have confirmed it
	WaitsForRefund      = "refund"      //
	WaitsForRetry       = "retry"       // at the time of the next try
	WaitsForOperator    = "operator"    //
)

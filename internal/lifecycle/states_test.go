package lifecycle

// All states of each workload, in the order in which an entity passes them: what the tables must list.
var (
	deliveryStates    = []DeliveryState{DeliveryQueued, DeliveryClaimed, DeliveryDownloading, DeliveryStreaming, DeliveryDelivered, DeliveryFailed, DeliveryCancelled, DeliveryExpired}
	downloadStates    = []DownloadState{DownloadQueued, DownloadDownloading, DownloadCompleted, DownloadFailed, DownloadCanceled}
	transactionStates = []TransactionState{TransactionPending, TransactionProcessing, TransactionProcessed, TransactionFailed}
)

package shape

import (
	"time"

	"stagecoach/internal/lifecycle"
)

// TransactionStats are the statistics of all transactions.
type TransactionStats struct {
	AsOf           *time.Time        `json:"as_of" example:"2026-03-01T12:00:00Z" doc:"Time of all figures except the 24-hour average, which is current; null: nothing was counted yet"`
	Statuses       []StatusShare     `json:"statuses" doc:"Only those that occur, most frequent first, here and below"`
	AverageSeconds *float64          `json:"average_processing_seconds" example:"21.4" doc:"Average from detection to processed, for transactions detected in the last 24 hours; null: none"`
	AverageAllTime *float64          `json:"average_processing_seconds_all_time" example:"24.9" doc:"The same for all transactions; null: none was processed"`
	AverageMinutes *float64          `json:"average_processing_minutes" example:"0.42" doc:"average_processing_seconds_all_time in minutes"`
	Errors         []MessageCount    `json:"errors" doc:"Of failed transactions, by message"`
	Categories     []CategoryCount   `json:"error_categories" doc:"The same by category"`
	Days           []TransactionsDay `json:"days" doc:"Days with transactions, all unless the request limits them, by day of detection (UTC), newest first"`
}

// StatusShare counts the transactions in one status.
type StatusShare struct {
	Status  lifecycle.TransactionState `json:"status" enum:"pending,processing,processed,failed"`
	Count   int64                      `json:"count" example:"97"`
	Percent float64                    `json:"percent" example:"96.04" doc:"Of all transactions"`
}

// MessageCount counts the failed transactions with one message.
type MessageCount struct {
	Message string `json:"message" example:"Username not found"`
	Count   int64  `json:"count" example:"3"`
}

// CategoryCount counts the failed transactions of one category.
type CategoryCount struct {
	Category string `json:"category" enum:"Username Error,Stars Amount Error,Network Error,Wallet Error,Fragment API Error,Other Error"`
	Count    int64  `json:"count" example:"3"`
}

// TransactionsDay counts the transactions of one day.
type TransactionsDay struct {
	Day            string  `json:"day" example:"2026-03-01"`
	Total          int64   `json:"total" example:"101"`
	Success        int64   `json:"success" example:"97"`
	SuccessPercent float64 `json:"success_percent" example:"96.04"`

	ReceivedNano   int64    `json:"received_nano" example:"250000000000" doc:"Amount received, for all of them"`
	Stars          int64    `json:"stars" example:"12500" doc:"Stars bought for transactions detected on this day"`
	AverageSeconds *float64 `json:"average_processing_seconds" example:"21.4" doc:"Average from detection to processed; null: none was processed"`
}

// Transaction is a transaction as administrators see it.
type Transaction struct {
	Hash                    string                        `json:"hash" example:"9f2c6d1e0b7a4c3d8e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5" doc:"Hash of the incoming transfer; all hashes are lower-case hex"`
	Status                  lifecycle.TransactionState    `json:"status" enum:"pending,processing,processed,failed"`
	AmountNano              int64                         `json:"amount_nano" example:"1000000000" doc:"Amount received; all amounts are in nanoTON"`
	Sender                  string                        `json:"sender" example:"0:83dfd552e63729b472fcbcc8c45ebcc6691702558b68ec7527e1ba403a0f31a8" doc:"A raw address"`
	Username                *string                       `json:"username" example:"durov" doc:"Recipient of the Stars; null: unknown"`
	UserID                  *string                       `json:"user_id" example:"3" doc:"The recipient, if it is one of our users"`
	Stars                   int64                         `json:"stars" example:"50" doc:"0: unknown"`
	QuoteNano               int64                         `json:"quote_nano" example:"460900000" doc:"Price of the Stars when priced; 0: unknown"`
	Attempt                 int                           `json:"attempt" example:"1" doc:"Purchase attempts so far"`
	ErrorMessage            *string                       `json:"error_message" example:"Username not found" doc:"null unless failed"`
	ErrorClass              *string                       `json:"error_class" example:"non-retryable" doc:"retryable, non-retryable or unknown; null unless failed"`
	FragmentTransactionHash *string                       `json:"fragment_transaction_hash" example:"1b4f0e9851971998e732078544c96b36c3d01cedf7caa332359d6f1d83567014" doc:"Hash of our payment on the chain; null unless processed"`
	RefundDueNano           int64                         `json:"refund_due_nano" example:"0" doc:"Owed to the sender and not on its way"`
	DustNano                int64                         `json:"dust_nano" example:"0" doc:"Was owed to the sender but kept: sending it costs more than it is worth"`
	NeedsReview             bool                          `json:"needs_review" doc:"Nothing is bought until an administrator resolves it"`
	ReviewReason            *string                       `json:"review_reason" example:"not_confirmed" doc:"A code; null unless it needs review"`
	WaitsFor                *string                       `json:"waits_for" example:"retry" doc:"purchase; refund: money is owed to the sender; retry: the time retry_at; operator: an administrator to resolve or retry it; null: nothing"`
	AllowedActions          []lifecycle.TransactionAction `json:"allowed_actions" example:"[\"retry\"]" doc:"Actions allowed to an administrator now"`
	Resolutions             []lifecycle.TransactionState  `json:"resolutions" example:"[\"processed\",\"failed\"]" doc:"Outcomes to which it can be resolved now"`
	WorkflowID              string                        `json:"workflow_id" example:"transaction/9f2c6d1e0b7a4c3d8e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5" doc:"Workflow ID in Temporal"`
	ProcessingSince         *time.Time                    `json:"processing_since" example:"2026-03-01T12:00:00Z" doc:"When it last entered processing"`
	DeadlineAt              *time.Time                    `json:"deadline_at" example:"2026-03-01T12:30:00Z" doc:"When administrators are alerted that it has been processing for too long; null in other states"`
	RetryAt                 *time.Time                    `json:"retry_at" example:"2026-03-01T12:31:00Z" doc:"When the system retries it after a failure; null: it does not"`
	GivenUpAt               *time.Time                    `json:"given_up_at" example:"2026-03-02T12:01:00Z" doc:"When the system stopped retrying and asked an administrator; null: it did not, or an administrator has retried it since"`
	CreatedAt               time.Time                     `json:"created_at" example:"2026-03-01T12:00:00Z"`
	UpdatedAt               time.Time                     `json:"updated_at" example:"2026-03-01T12:00:00Z"`
	ReceiptKey              string                        `json:"receipt_key" example:"0f8fad5bd9cb469fa16570867728950e" doc:"Anyone with it may read the receipt"`
	ReceiptURL              *string                       `json:"receipt_url" doc:"Receipt page for the payer; null: the web pages have no public URL"`
}

// Ended reports whether the transaction has a result. A failed one may still be retried.
func (t Transaction) Ended() bool {
	return t.Status == lifecycle.TransactionProcessed || t.Status == lifecycle.TransactionFailed
}

// Payment is a payment that was signed for a transaction.
type Payment struct {
	ID           string     `json:"id" example:"5"`
	Kind         string     `json:"kind" enum:"purchase,refund"`
	State        string     `json:"state" enum:"signed,paid,dead,bounced" doc:"signed: it may be on the chain or still get there; dead: it paid nothing and never will"`
	Attempt      int        `json:"attempt" example:"1" doc:"Attempt of the transaction when it was signed"`
	Seqno        int64      `json:"seqno" example:"17"`
	Destination  string     `json:"destination" example:"0:83dfd552e63729b472fcbcc8c45ebcc6691702558b68ec7527e1ba403a0f31a8"`
	AmountNano   int64      `json:"amount_nano" example:"460900000"`
	GasNano      int64      `json:"gas_nano" example:"2500000"`
	ReturnedNano int64      `json:"returned_nano" example:"0" doc:"Amount returned if it bounced"`
	MessageHash  string     `json:"message_hash" example:"5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9" doc:"Normalised hash of the broadcast message"`
	ChainHash    *string    `json:"chain_hash" example:"1b4f0e9851971998e732078544c96b36c3d01cedf7caa332359d6f1d83567014" doc:"Hash of the wallet's transaction; null: not found"`
	ValidUntil   time.Time  `json:"valid_until" example:"2026-03-01T12:01:00Z" doc:"By the chain's clock"`
	SentAt       *time.Time `json:"sent_at" example:"2026-03-01T12:00:01Z" doc:"When it was first broadcast"`
	SettledAt    *time.Time `json:"settled_at" example:"2026-03-01T12:00:09Z" doc:"When the chain decided"`
	KeptAt       *time.Time `json:"kept_at" example:"2026-03-01T12:00:15Z" doc:"When it was confirmed that its recipient keeps it"`
	CreatedAt    time.Time  `json:"created_at" example:"2026-03-01T12:00:00Z"`
}

// WholeTransaction is a transaction with its events and payments.
type WholeTransaction struct {
	Transaction
	Events   []History `json:"events" doc:"Oldest first"`
	Payments []Payment `json:"payments" doc:"Payments signed for it, oldest first"`

	Ledger []LedgerEntry `json:"ledger" doc:"Its ledger entries, oldest first"`
}

// LedgerEntry is a change of the ledger.
type LedgerEntry struct {
	Cause     string    `json:"cause" example:"reserve/5" doc:"The event, and what it happened to"`
	CreatedAt time.Time `json:"created_at" example:"2026-03-01T12:00:00Z"`
	Postings  []Posting `json:"postings" doc:"They sum to zero"`
}

// Posting is the part of an entry that changes one account.
type Posting struct {
	Account    string `json:"account" example:"wallet"`
	AmountNano int64  `json:"amount_nano" example:"-460900000"`
}

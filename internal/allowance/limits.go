package allowance

import (
	"time"

	"stagecoach/internal/fault"
)

// Names of limits besides those of store.Quotas, used in details of RATE_LIMITED and in the metric of refused requests.
const (
	LimitRequests    = "requests"
	LimitWrongTokens = "wrong_tokens"
	LimitNewcomers   = "newcomers"
	LimitReceipts    = "receipts"
	LimitInvitations = "invitations" // people invited to workspaces, per user
	LimitSearches    = "searches"    // per user, for releases and in tasks
	LimitStreams     = "streams"
	LimitAllStreams  = "all_streams" // of a process
	LimitBodies      = "bodies"      // held by a process
	LimitCatalogue   = "catalogue"   // pages for reading apps being written by a process
	LimitOpenFiles   = "open_files"  // in the library, read by reading apps
	LimitConnections = "connections" // of a process, and of one address to it
	LimitChatLine    = "chat_line"   // updates of one chat waiting in the bot
)

// Limits lists these names.
var Limits = []string{
	LimitRequests, LimitWrongTokens, LimitNewcomers, LimitReceipts, LimitInvitations, LimitSearches, LimitStreams, LimitAllStreams,
	LimitBodies, LimitCatalogue, LimitOpenFiles, LimitConnections, LimitChatLine,
}

// tooMany refuses a request or a guess, with the time to wait.
func tooMany(limit string, wait time.Duration) error {
	return fault.New(fault.RateLimited, "too many requests: slow down").With("limit", limit).After(wait)
}

// LimitOf names the limit behind an error; empty: none.
func LimitOf(err error) string {
	refusal := fault.As(err)
	if refusal == nil {
		return ""
	}

	switch refusal.Code {
	case fault.StreamsFull:
		return LimitAllStreams
	case fault.QuotaExceeded, fault.RateLimited:
		limit, _ := refusal.Details["limit"].(string)
		return limit
	default:
		return ""
	}
}

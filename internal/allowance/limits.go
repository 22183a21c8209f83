package allowance

import (
	"time"

	"stagecoach/internal/fault"
)

// Names of limits beside those of store.Quotas, in details of RATE_LIMITED and in the metric of refused requests.
const (
	LimitRequests    = "requests"
	LimitWrongTokens = "wrong_tokens"
	LimitNewcomers   = "newcomers"
	LimitReceipts    = "receipts"
	LimitInvitations = "invitations" // people whom a user asks to join workspaces
	LimitSearches    = "searches"    // of a user for releases
	LimitStreams     = "streams"
	LimitAllStreams  = "all_streams" // of a process
	LimitBodies      = "bodies"      // that a process holds
	LimitConnections = "connections" // of a process, and of one address to it
	LimitChatLine    = "chat_line"   // updates of one chat that wait in the bot
)

// Limits are these names.
var Limits = []string{
	LimitRequests, LimitWrongTokens, LimitNewcomers, LimitReceipts, LimitInvitations, LimitSearches, LimitStreams, LimitAllStreams,
	LimitBodies, LimitConnections, LimitChatLine,
}

// tooMany is the refusal of a request or of a guess, with the time to wait.
func tooMany(limit string, wait time.Duration) error {
	return fault.New(fault.RateLimited, "too many requests: slow down").With("limit", limit).After(wait)
}

// LimitOf names the limit that an error says is reached; empty: none.
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

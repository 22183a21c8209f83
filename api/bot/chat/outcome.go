package chat

import (
	"context"
	"slices"
	"strings"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/telegram"
)

// Outcome is the outcome of a request to Telegram.
type Outcome int

const (
	Done    Outcome = iota
	Later           // not done; it may be repeated after a pause
	Unknown         // no answer came: it may have been done
	Gone            // the message or the person can no longer be reached
	Refused         // it will never succeed
)

// tokenWait is the pause after Telegram rejects the token: an operator has to replace it.
const tokenWait = 30 * time.Second

// OutcomeOf classifies the error of a request, and returns how long to wait before a retry.
func OutcomeOf(err error) (Outcome, time.Duration) {
	if err == nil || says(err, "message is not modified") {
		return Done, 0
	}

	switch problem := telegram.Classify(err); {
	case says(err, "message to edit not found", "message can't be edited", "MESSAGE_ID_INVALID"):
		return Gone, 0
	case problem.Code == fault.TelegramForbidden:
		return Gone, 0
	case problem.Code == fault.TelegramRateLimited:
		return Later, max(problem.RetryAfter, time.Second)
	case problem.Code == fault.TelegramUnauthorized:
		return Later, tokenWait
	case telegram.Unanswered(err):
		return Unknown, time.Second
	case problem.Retryable:
		return Later, time.Second
	default:
		return Refused, 0
	}
}

func says(err error, phrases ...string) bool {
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(err.Error(), phrase) })
}

// attempt makes a request that a person waits for, with a few quick retries. idempotent says that the request may be
// repeated safely. Other chats wait neither for the request nor for what Telegram asks of this chat.
func attempt(ctx context.Context, idempotent bool, do func(context.Context) error) (outcome Outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()

	place := PlaceOf(ctx)
	for try := 1; ; try++ {
		place.Yield(func() { err = do(ctx) })
		var wait time.Duration
		outcome, wait = OutcomeOf(err)
		again := outcome == Later || outcome == Unknown && idempotent
		if !again || wait > longestWait || try == answerTries || !place.Pause(ctx, wait) {
			return outcome, err
		}
	}
}

// Sleep waits for d; false when ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

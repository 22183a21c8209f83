package transaction_test

import (
	"strings"
	"testing"
	"time"

	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// TestLongKeys retries by the longest key that the API takes: with the user's id before it it is longer than any id
// that Temporal takes.
func TestLongKeys(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx, hash, key := t.Context(), w.failedOnce(), strings.Repeat("~", 255)
	first, err := w.client.Retry(ctx, w.admin, hash, "by hand", key)
	w.must(err)
	w.becomes(hash, lifecycle.TransactionProcessed)
	again, err := w.client.Retry(ctx, w.admin, hash, "by hand", key)
	w.must(err)
	if first.Attempt != 2 || again.Attempt != 2 || !first.UpdatedAt.Equal(again.UpdatedAt) {
		t.Errorf("%+v, then %+v", first, again)
	}
}

// TestInvalidForTemporal sends what the server refuses as invalid: this is answered at once, and not as an outage.
func TestInvalidForTemporal(t *testing.T) {
	t.Parallel()
	server := testtemporal.Own(t, "limit.maxIDLength=100")
	w := newRig(t, func(s *setup) { s.server = server })
	w.client.Patience = time.Hour
	_, err := w.client.Retry(t.Context(), w.admin, w.failedOnce(), "by hand", strings.Repeat("k", 200))
	w.wantCode(err, fault.Validation)
}

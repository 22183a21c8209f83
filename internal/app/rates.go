package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"stagecoach/internal/outbound"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
)

// SharedRate is the allowance of requests to an outside system that all processes with the same key or session share.
// The secret's hash tells them apart; without a secret all processes that ask the same server share one.
func SharedRate(s *store.Store, system, url, secret string) outbound.Reserve {
	sum := sha256.Sum256([]byte(url + "\x00" + secret))
	key := system + "/" + hex.EncodeToString(sum[:16])
	return func(ctx context.Context, perSecond float64, burst int, patience time.Duration) (time.Duration, error) {
		return s.Reserve(ctx, key, account.Rate{PerSecond: perSecond, Burst: burst}, 1, patience)
	}
}

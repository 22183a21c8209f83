package stack

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"stagecoach/dev/sim/tonsim"
)

// shopBlock is how long a payment takes to get into a block: long enough to be visible.
const shopBlock = 300 * time.Millisecond

// startShop starts what dev buys Stars with: a chain with the service's wallet, and a Fragment that is paid on it.
func (s *Stack) startShop(ctx context.Context) error {
	seed, err := hex.DecodeString(s.kept.TonKey)
	if err != nil || len(seed) != ed25519.SeedSize {
		return fmt.Errorf(
			"%s holds no key of a wallet: remove its ton_key, and another one is made", s.Shown(keptFile(s.State)),
		)
	}

	return s.StartShop(ctx, ShopOptions{
		Seed: seed,
		// No balance: every nanoTON comes from a transfer, so that it is in the ledger.
		Chain:    tonsim.TonCenterOptions{Dir: s.ofRecord("toncenter", ""), BlockTime: shopBlock, Balance: -1},
		Fragment: tonsim.FragmentOptions{Dir: s.ofRecord("fragment", "")},
	})
}

// shopSettings are the settings of purchases for a developer: what takes minutes elsewhere takes seconds.
func shopSettings() map[string]string {
	return map[string]string{
		"STAGECOACH_TONCENTER_RATE":     "200",
		"STAGECOACH_FRAGMENT_RATE":      "200",
		"STAGECOACH_TX_POLL_INTERVAL":   "300ms",
		"STAGECOACH_TX_PAYMENT_TTL":     "20s",
		"STAGECOACH_TX_FINALITY_MARGIN": "2s",
	}
}

func newTonKey() string {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	return hex.EncodeToString(seed)
}

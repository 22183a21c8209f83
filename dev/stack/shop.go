package stack

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"time"

	"stagecoach/dev/sim/tonsim"
)

const (
	shopBlock   = 300 * time.Millisecond // until a payment is in a block: slow enough to be seen
	shopSession = "stel_ssid=dev; stel_dt=0; stel_token=dev; stel_ton_token=dev"
)

// shop is where dev buys Stars: a chain with the service's wallet, two sources that tell of it, and a Fragment that is
// paid on it.
type shop struct {
	Chain    *tonsim.TonCenter
	second   *tonsim.SecondTonCenter
	Fragment *tonsim.Fragment
}

// startShop starts the stand-ins for the TON blockchain and for Fragment.
func (s *Stack) startShop() error {
	seed, err := hex.DecodeString(s.kept.TonKey)
	if err != nil || len(seed) != ed25519.SeedSize {
		return fmt.Errorf(
			"%s holds no key of a wallet: remove its ton_key, and another one is made", s.Shown(keptFile(s.State)),
		)
	}

	s.Shop.Chain, err = tonsim.NewTonCenter(tonsim.TonCenterOptions{
		Dir: s.ofRecord("toncenter", ""), BlockTime: shopBlock, Balance: -1, // all that is there came by a transfer: the ledger has it
		PublicKey: hex.EncodeToString(ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)),
	})
	if err != nil {
		return err
	}
	if s.Info.StandIns.TonCenter, err = s.serveStandIn("toncenter", s.Shop.Chain, &s.kept.Ports.TonCenter); err != nil {
		return err
	}

	s.Shop.second = tonsim.NewSecondTonCenter(s.Info.StandIns.TonCenter)
	if s.Info.StandIns.TonCenter2, err = s.serveStandIn("toncenter-2", s.Shop.second, &s.kept.Ports.TonCenter2); err != nil {
		return err
	}

	s.Shop.Fragment, err = tonsim.NewFragment(tonsim.FragmentOptions{
		Dir: s.ofRecord("fragment", ""), TonCenterURL: s.Info.StandIns.TonCenter,
	})
	if err != nil {
		return err
	}

	s.Info.StandIns.Fragment, err = s.serveStandIn("fragment", s.Shop.Fragment, &s.kept.Ports.Fragment)
	return err
}

// shopSettings adds what dev decides about purchases, and what suits a developer: whatever takes minutes elsewhere
// takes seconds.
func (s *Stack) shopSettings(decided, suggested map[string]string) {
	maps.Copy(decided, map[string]string{
		"STAGECOACH_TON_KEY":             s.kept.TonKey,
		"STAGECOACH_TON_NETWORK":         "mainnet",
		"STAGECOACH_TONCENTER_URL":       s.Info.StandIns.TonCenter,
		"STAGECOACH_TONCENTER_API_KEY":   "",
		"STAGECOACH_TONCENTER_2_URL":     s.Info.StandIns.TonCenter2,
		"STAGECOACH_TONCENTER_2_API_KEY": "",
		"STAGECOACH_FRAGMENT_URL":        s.Info.StandIns.Fragment,
		"STAGECOACH_FRAGMENT_COOKIES":    shopSession,
		"STAGECOACH_TX_ALLOW":            s.Shop.Chain.Shop(),
		"STAGECOACH_TX_WHOLE_HISTORY":    "true", // a transfer may come before the first look at the chain
	})

	maps.Copy(suggested, map[string]string{
		"STAGECOACH_TONCENTER_RATE":        "200",
		"STAGECOACH_TONCENTER_2_RATE":      "200",
		"STAGECOACH_TX_SECOND_SOURCE_FROM": "0.5",
		"STAGECOACH_TX_SECOND_SOURCE_WAIT": "5s",
		"STAGECOACH_FRAGMENT_RATE":         "200",
		"STAGECOACH_TX_POLL_INTERVAL":      "300ms",
		"STAGECOACH_TX_RETRY_INTERVAL":     "300ms",
		"STAGECOACH_TX_REBROADCAST":        "2s",
		"STAGECOACH_TX_PAYMENT_TTL":        "20s",
		"STAGECOACH_TX_FINALITY_MARGIN":    "2s",
		"STAGECOACH_TX_HOLD_RETRY":         "5s",
	})
}

func newTonKey() string {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	return hex.EncodeToString(seed)
}

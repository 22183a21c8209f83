package config

import (
	"fmt"
	"strconv"
	"time"

	"stagecoach/internal/money"
)

// TON configures the paying wallet and the gateways to the chain. Without a key there are no transactions.
type TON struct {
	Key, KeyFile string // the wallet's; never shown
	Network      string // "mainnet" or "testnet"

	ToncenterURL, ToncenterKey string
	ToncenterRate              float64 // requests per second
}

// Fragment configures where Stars are bought, and with whose session.
type Fragment struct {
	URL               string
	Cookies           string // as a browser sends them; never shown
	RequestsPerSecond float64
}

// Transactions configures the workload that buys Stars. Amounts are nanoTON.
type Transactions struct {
	Allow            []string // addresses that may be paid
	TopUpFrom        []string // addresses whose transfers are not orders
	WholeHistory     bool     // transfers from before the first start are orders too
	PaymentLimit     int64    // 0: none
	DailyLimit       int64    // 0: none
	RefundLimit      int64    // 0: none
	RefundDailyLimit int64    // 0: none
	ReviewFrom       int64    // 0: no deposit needs a review because of its amount
	ReviewDaily      int64    // 0: none because of a day's total
	PollInterval     time.Duration
	PaymentTTL       time.Duration
	FinalityMargin   time.Duration
	RetryFor         time.Duration
	RetryPause       time.Duration
	Refund           bool
}

// usualDailyLimit is the default of STAGECOACH_TX_DAILY_LIMIT, in GRAM.
const usualDailyLimit = 1000

// checkReviews refuses to pay for any deposit without a review unless the daily limit was raised deliberately: it
// bounds what a false deposit can cost.
func (t Transactions) checkReviews() error {
	if t.ReviewFrom > 0 && t.ReviewDaily > 0 || t.DailyLimit == 0 || t.DailyLimit > usualDailyLimit*int64(money.TON) {
		return nil
	}
	return fmt.Errorf(
		"STAGECOACH_TX_REVIEW_FROM, STAGECOACH_TX_REVIEW_DAILY: 0 needs a STAGECOACH_TX_DAILY_LIMIT above %d, or 0 there too", usualDailyLimit,
	)
}

// transactionSettings are those of transactions, and of their external systems.
func (c *Config) transactionSettings() []Setting {
	return []Setting{
		only(withWallet, Setting{Name: "STAGECOACH_TON_KEY", Doc: "the wallet's private key: 24 words, or 32 or 64 bytes in hex; only its owner may read the file; empty: no transactions", Secret: true, set: func(v string) error { c.TON.Key = v; return nil }, file: &c.TON.KeyFile}),
		choice(&c.TON.Network, "STAGECOACH_TON_NETWORK", "mainnet", []string{"mainnet", "testnet"}, "mainnet or testnet"),
		guarded(address(&c.TON.ToncenterURL, "STAGECOACH_TONCENTER_URL", "https://toncenter.com", "the toncenter that reads the chain and broadcasts payments"), &c.TON.ToncenterURL),
		secret(&c.TON.ToncenterKey, "STAGECOACH_TONCENTER_API_KEY", "toncenter's API key; empty: one request per second"),
		number(&c.TON.ToncenterRate, "STAGECOACH_TONCENTER_RATE", "0", "requests per second to toncenter; 0: 1 without a key, 10 with one"),
		guarded(address(&c.Fragment.URL, "STAGECOACH_FRAGMENT_URL", "https://fragment.com", "the address of Fragment, which sells Stars"), &c.Fragment.URL),
		only(withWallet, secret(&c.Fragment.Cookies, "STAGECOACH_FRAGMENT_COOKIES", "the session at Fragment: stel_ssid=…; stel_dt=…; stel_token=…; stel_ton_token=…")),
		number(&c.Fragment.RequestsPerSecond, "STAGECOACH_FRAGMENT_RATE", "0", "requests per second to Fragment; 0: 2"),
		words(&c.Transactions.Allow, "STAGECOACH_TX_ALLOW", "addresses that may be paid for Stars, separated by commas; required with a key"),
		words(&c.Transactions.TopUpFrom, "STAGECOACH_TX_TOP_UP_FROM", "your own addresses, separated by commas: transfers from them are not orders"),
		boolean(&c.Transactions.WholeHistory, "STAGECOACH_TX_WHOLE_HISTORY", "false", "at the first start with this wallet, earlier transfers are orders, too"),
		amount(&c.Transactions.PaymentLimit, "STAGECOACH_TX_PAYMENT_LIMIT", "200", "GRAM (ex TON); the most for one purchase; 0: no limit"),
		amount(&c.Transactions.DailyLimit, "STAGECOACH_TX_DAILY_LIMIT", strconv.Itoa(usualDailyLimit), "GRAM (ex TON); the most for all purchases within 24 hours; an order that does not fit waits, and smaller ones pass it; 0: no limit"),
		amount(&c.Transactions.ReviewFrom, "STAGECOACH_TX_REVIEW_FROM", "50", "GRAM (ex TON); a larger deposit needs an operator's review before anything is paid for it; 0: no such limit, and STAGECOACH_TX_DAILY_LIMIT must be raised"),
		amount(&c.Transactions.ReviewDaily, "STAGECOACH_TX_REVIEW_DAILY", "500", "GRAM (ex TON); the most for all deposits within 24 hours without a review; further ones need one; 0: no such limit, and STAGECOACH_TX_DAILY_LIMIT must be raised"),
		amount(&c.Transactions.RefundLimit, "STAGECOACH_TX_REFUND_LIMIT", "200", "GRAM (ex TON); a larger refund needs an operator's review; 0: no limit"),
		amount(&c.Transactions.RefundDailyLimit, "STAGECOACH_TX_REFUND_DAILY_LIMIT", "1000", "GRAM (ex TON); the most for all refunds within 24 hours, except those that an operator allowed; 0: no limit"),
		duration(&c.Transactions.PollInterval, "STAGECOACH_TX_POLL_INTERVAL", "5s", 10*time.Millisecond, time.Hour, "time between two reads of the wallet's history; a second at most while a payment is under way"),
		duration(&c.Transactions.PaymentTTL, "STAGECOACH_TX_PAYMENT_TTL", "2m", time.Second, time.Hour, "how long a signed payment is valid"),
		duration(&c.Transactions.FinalityMargin, "STAGECOACH_TX_FINALITY_MARGIN", "30s", 0, time.Hour, "how long after its expiry a payment that is not found counts as dead"),
		duration(&c.Transactions.RetryFor, "STAGECOACH_TX_RETRY_FOR", "24h", 0, 30*day, "the total time between attempts of a failed order; then an operator is asked; 0: an operator is asked at once"),
		duration(&c.Transactions.RetryPause, "STAGECOACH_TX_RETRY_PAUSE", "1m", 10*time.Millisecond, time.Hour, "pause before a failed order is tried again; doubled each time, up to an hour"),
		boolean(&c.Transactions.Refund, "STAGECOACH_TX_REFUND", "false", "refund the payer, less gas, when an order cannot be carried out"),
	}
}

package config

import "time"

// TON configures the wallet that pays and the gateways to the chain. Without a key there are no transactions.
type TON struct {
	Key, KeyFile string // the wallet's; never shown
	Network      string // "mainnet" or "testnet"

	ToncenterURL, ToncenterKey string
	ToncenterRate              float64 // requests per second

	SecondURL, SecondKey string  // of another operator's toncenter; no URL: there is no second source
	SecondRate           float64 // requests per second
}

// Fragment configures where Stars are bought, and with whose session.
type Fragment struct {
	URL               string
	Cookies           string // as a browser sends them; never shown
	RequestsPerSecond float64
	ShowSender        bool
}

// Transactions configures the workload that buys Stars. Amounts are nanoTON.
type Transactions struct {
	Allow            []string // addresses that may be paid
	TopUpFrom        []string // addresses whose transfers are no orders
	WholeHistory     bool     // transfers from before the first start are orders too
	MinDeposit       int64
	MaxStars         int64
	Reserve          int64
	Slippage         int64 // in parts of 10,000
	PaymentLimit     int64 // 0: none
	DailyLimit       int64 // 0: none
	RefundLimit      int64 // 0: none
	RefundDailyLimit int64 // 0: none
	RefundLeast      int64
	Attempts         int
	RetryInterval    time.Duration
	PollInterval     time.Duration
	PaymentTTL       time.Duration
	FinalityMargin   time.Duration
	RebroadcastEvery time.Duration
	ConfirmPatience  time.Duration
	StuckAfter       time.Duration
	HoldRetry        time.Duration
	RetryFor         time.Duration
	RetryPause       time.Duration
	Refund           bool
	SecondFrom       int64 // deposits that the second source is asked for
	SecondWait       time.Duration
}

// transactionSettings are those of transactions, and of the systems that they deal with.
func (c *Config) transactionSettings() []Setting {
	return []Setting{
		{Name: "STAGECOACH_TON_KEY", Doc: "the wallet's private key: 24 words, or 32 or 64 bytes in hex; only its owner may read the file; empty: no transactions", Secret: true, Only: ForWorker, set: func(v string) error { c.TON.Key = v; return nil }, file: &c.TON.KeyFile},
		choice(&c.TON.Network, "STAGECOACH_TON_NETWORK", "mainnet", []string{"mainnet", "testnet"}, "mainnet or testnet"),
		guarded(address(&c.TON.ToncenterURL, "STAGECOACH_TONCENTER_URL", "https://toncenter.com", "the toncenter that reads the chain and broadcasts payments"), &c.TON.ToncenterURL),
		secret(&c.TON.ToncenterKey, "STAGECOACH_TONCENTER_API_KEY", "toncenter's API key; empty: one request per second"),
		number(&c.TON.ToncenterRate, "STAGECOACH_TONCENTER_RATE", "0", "requests per second to toncenter; 0: 1 without a key, 10 with one"),
		guarded(optionalAddress(&c.TON.SecondURL, "STAGECOACH_TONCENTER_2_URL", "a second toncenter, of another operator, that confirms large deposits before they are paid for; empty: none. Every worker needs the same value"), &c.TON.SecondURL),
		only(ForWorker, secret(&c.TON.SecondKey, "STAGECOACH_TONCENTER_2_API_KEY", "the second toncenter's API key; empty: one request per second")),
		number(&c.TON.SecondRate, "STAGECOACH_TONCENTER_2_RATE", "0", "requests per second to the second toncenter; 0: 1 without a key, 10 with one"),
		guarded(address(&c.Fragment.URL, "STAGECOACH_FRAGMENT_URL", "https://fragment.com", "the address of Fragment, which sells Stars"), &c.Fragment.URL),
		only(ForWorker, secret(&c.Fragment.Cookies, "STAGECOACH_FRAGMENT_COOKIES", "the session at Fragment: stel_ssid=…; stel_dt=…; stel_token=…; stel_ton_token=…")),
		number(&c.Fragment.RequestsPerSecond, "STAGECOACH_FRAGMENT_RATE", "0", "requests per second to Fragment; 0: 2"),
		boolean(&c.Fragment.ShowSender, "STAGECOACH_FRAGMENT_SHOW_SENDER", "false", "show the receiver who sent the Stars"),
		words(&c.Transactions.Allow, "STAGECOACH_TX_ALLOW", "addresses that may be paid for Stars, with commas; required with a key"),
		words(&c.Transactions.TopUpFrom, "STAGECOACH_TX_TOP_UP_FROM", "addresses of yours, with commas: their transfers to the wallet are no orders"),
		boolean(&c.Transactions.WholeHistory, "STAGECOACH_TX_WHOLE_HISTORY", "false", "at the first start with this wallet, transfers from before are orders too"),
		amount(&c.Transactions.MinDeposit, "STAGECOACH_TX_MIN_DEPOSIT", "0.05", "GRAM (ex TON); a smaller transfer is no order"),
		integer(&c.Transactions.MaxStars, "STAGECOACH_TX_MAX_STARS", "1000000", 50, 1<<40, "the largest number of Stars in one purchase"),
		amount(&c.Transactions.Reserve, "STAGECOACH_TX_RESERVE", "0.02", "GRAM (ex TON) kept back of each transfer for gas, and left in the wallet by each payment"),
		integer(&c.Transactions.Slippage, "STAGECOACH_TX_SLIPPAGE", "100", 0, 10_000, "how much more than quoted a purchase may cost, in parts of 10,000"),
		amount(&c.Transactions.PaymentLimit, "STAGECOACH_TX_PAYMENT_LIMIT", "200", "GRAM (ex TON); the most for one purchase; 0: no limit"),
		amount(&c.Transactions.DailyLimit, "STAGECOACH_TX_DAILY_LIMIT", "1000", "GRAM (ex TON); the most for all purchases of 24 hours together: an order that does not fit waits, and smaller ones pass; 0: no limit"),
		amount(&c.Transactions.RefundLimit, "STAGECOACH_TX_REFUND_LIMIT", "200", "GRAM (ex TON); a larger refund needs an operator's review; 0: no limit"),
		amount(&c.Transactions.RefundDailyLimit, "STAGECOACH_TX_REFUND_DAILY_LIMIT", "1000", "GRAM (ex TON); the most for all refunds of 24 hours together, except those that an operator allowed; 0: no limit"),
		amount(&c.Transactions.RefundLeast, "STAGECOACH_TX_REFUND_LEAST", "0.01", "GRAM (ex TON); a refund of which the sender would get less, after gas, is not made"),
		integer(&c.Transactions.Attempts, "STAGECOACH_TX_ATTEMPTS", "3", 1, 100, "attempts to buy before a transaction fails"),
		duration(&c.Transactions.RetryInterval, "STAGECOACH_TX_RETRY_INTERVAL", "30s", 10*time.Millisecond, time.Hour, "pause before the second attempt; doubled for each later one"),
		duration(&c.Transactions.PollInterval, "STAGECOACH_TX_POLL_INTERVAL", "5s", 10*time.Millisecond, time.Hour, "time between two reads of the wallet's history; a second at most while a payment is under way"),
		duration(&c.Transactions.PaymentTTL, "STAGECOACH_TX_PAYMENT_TTL", "2m", time.Second, time.Hour, "how long a signed payment is valid"),
		duration(&c.Transactions.FinalityMargin, "STAGECOACH_TX_FINALITY_MARGIN", "30s", 0, time.Hour, "how long after its validity a payment that is not found counts as dead"),
		duration(&c.Transactions.RebroadcastEvery, "STAGECOACH_TX_REBROADCAST", "15s", 10*time.Millisecond, time.Hour, "how often a payment that is not found yet is broadcast again"),
		duration(&c.Transactions.ConfirmPatience, "STAGECOACH_TX_CONFIRM_PATIENCE", "10m", time.Second, day, "how long Fragment is asked about a paid purchase before it needs review"),
		duration(&c.Transactions.StuckAfter, "STAGECOACH_TX_STUCK_AFTER", "30m", time.Second, 30*day, "a transaction in processing for longer raises an alert"),
		duration(&c.Transactions.HoldRetry, "STAGECOACH_TX_HOLD_RETRY", "5m", 10*time.Millisecond, day, "how long purchases are held before one order tests whether the cause is gone"),
		duration(&c.Transactions.RetryFor, "STAGECOACH_TX_RETRY_FOR", "24h", 0, 30*day, "how long the system keeps trying an order that may still succeed: while Fragment cannot be reached the order waits, after other failures it is tried again; then an operator is asked; 0: it fails after its attempts, and an operator is asked at once"),
		duration(&c.Transactions.RetryPause, "STAGECOACH_TX_RETRY_PAUSE", "1m", 10*time.Millisecond, time.Hour, "pause before the system tries a failed order again; doubled for each later time, up to an hour"),
		boolean(&c.Transactions.Refund, "STAGECOACH_TX_REFUND", "false", "send the money back, less gas, when the payer's order cannot be carried out"),
		amount(&c.Transactions.SecondFrom, "STAGECOACH_TX_SECOND_SOURCE_FROM", "50", "GRAM (ex TON); the second toncenter is asked for deposits of this amount or more; 0: for all"),
		duration(&c.Transactions.SecondWait, "STAGECOACH_TX_SECOND_SOURCE_WAIT", "2m", 0, day, "how far behind the second toncenter's position on the chain a deposit must be before it is held as unknown there"),
	}
}

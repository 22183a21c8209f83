// Package transaction is the fourth workload: TON comes in, Telegram Stars go out, exactly once.
//
// Two kinds of workflows work together. TonMonitor follows the wallet's history on the chain without a gap and writes it
// into the record: new transfers become pending transactions, payments of ours become paid or dead. Transaction drives one
// transfer: it reads the order, waits for the wallet's turn, signs one payment, and then waits for what the chain says.
//
// The record decides. Each step of a Transaction asks it to go on and is told where it stands then, and the next step
// follows from that alone: a workflow that was terminated, reset or started twice goes on from where the money is. Signals
// are hints to look. Once a payment is signed the only ways on are "found on the chain" and "proven dead".
package transaction

// Names that operators and other programs use. The updates are the actions retry and resolve.
const (
	WorkflowType  = "Transaction"
	StateQuery    = "state"
	RetrySignal   = "retry"   // for operators: as the update, without an answer
	TurnSignal    = "turn"    // from the monitor: the wallet's turn may have come
	SettledSignal = "settled" // from the monitor: the chain may have decided about the payment

	MonitorType = "TonMonitor"

	// QuoteQueue is where orders wait to be quoted, a few at a time: however many come at once, Fragment's answers go to the
	// order whose turn it is.
	QuoteQueue = "quotes"

	// PaymentQueue is where everything waits that needs the wallet's key or the shop's session: only processes that hold both serve it.
	PaymentQueue = "payments"
)

// MonitorID is the id of the workflow that watches a wallet.
func MonitorID(wallet string) string { return "ton-monitor/" + wallet }

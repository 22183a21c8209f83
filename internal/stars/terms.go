package stars

import "stagecoach/internal/money"

// Terms of sale that are the same for all installations.
const (
	// LeastDeposit is the smallest order: a tenth of what the fewest Stars cost, so that a smaller transfer is a mistake
	// or an advertisement.
	LeastDeposit = money.TON / 20

	// Reserve is kept back from each transfer for gas, and left in the wallet by each payment: about three times the fees
	// of a payment and of the wallet's rent.
	Reserve = money.TON / 50

	// LeastRefund is the smallest refund, after gas: less is not worth its transfer.
	LeastRefund = money.TON / 100

	// Most is how many Stars one order may request: the most that Telegram's newest clients accept. Fragment may refuse
	// less.
	Most = 10_000_000

	// Slippage is how far a purchase may exceed its quote, in parts of 10,000. The price in TON follows an exchange and
	// moves by less within the minutes of an order.
	Slippage = 100
)

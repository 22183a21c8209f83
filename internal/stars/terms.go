package stars

import "stagecoach/internal/money"

// Terms of a sale that no installation decides.
const (
	// LeastDeposit is the smallest order: a tenth of what the fewest Stars cost, so that a smaller transfer is a mistake or an
	// advertisement.
	LeastDeposit = money.TON / 20

	// Reserve is kept back of each transfer for gas, and left in the wallet by each payment: some three times the fees of a
	// payment, and of the wallet's rent.
	Reserve = money.TON / 50

	// LeastRefund is the smallest refund, after gas: less is worth no more than its transfer costs.
	LeastRefund = money.TON / 100

	// Slippage is how much more than quoted a purchase may cost, in parts of 10,000. The price in TON follows an exchange and
	// moves by less within the minutes of an order.
	Slippage = 100
)

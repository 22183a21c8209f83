package stars

import "stagecoach/internal/money"

// Bought returns how many Stars an amount buys if Least of them cost price: rounded down, and 0 if it buys none.
func Bought(amount, price money.Nano) int64 {
	if min(amount, price) <= 0 {
		return 0
	}
	number, err := amount.MulDiv(Least, int64(price))
	if err != nil { // too large for an int64, and more than is ever sold
		return 1<<63 - 1
	}
	return int64(number)
}

// Fewer returns a smaller number of Stars that amount buys, if number of them cost price, which exceeds amount. The
// price is not exactly proportional to the number.
func Fewer(number int64, price, amount money.Nano) int64 {
	fits, err := amount.MulDiv(number, int64(price))
	if err != nil { // a negative price or amount, or no price
		return 0
	}
	return min(int64(fits), number-1)
}

// Acceptable reports whether the final price is at most slippage above or below the quoted one: a customer whose Stars
// were computed from too high a price gets too few. slippage is in parts of 10,000.
func Acceptable(price, quote money.Nano, slippage int64) bool {
	more, err := quote.MulDiv(slippage, 10_000)
	if err != nil {
		return false
	}
	limit, err := quote.Add(more)
	return err == nil && price > 0 && price <= limit && price >= quote-more
}

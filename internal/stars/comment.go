// Package stars has the rules of orders of Telegram Stars: how a comment is read, how many Stars an amount buys, and
// the name of each failure. It does no I/O and keeps no state.
package stars

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Least is the smallest number of Stars that Fragment sells at a time.
const Least = 50

// Order is the order in the comment of a payment.
type Order struct {
	Username string // the receiver of the Stars, without the @
	Stars    int64  // how many; 0: as many as the payment buys
}

var (
	username = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{3,31}$`)
	digits   = regexp.MustCompile(`^[0-9]+$`)
)

// IsUsername reports whether a text has the form of a username, without the @.
func IsUsername(text string) bool { return username.MatchString(text) }

// Parse reads a comment: a username, with or without @, and optionally white space and an integer, the number of Stars.
// most is the largest number that is sold at a time. Errors are *Failure.
func Parse(comment string, most int64) (Order, error) {
	words := strings.Fields(comment)
	if strings.ContainsRune(comment, utf8.RuneError) || len(words) == 0 || len(words) > 2 ||
		len(words) == 2 && !digits.MatchString(words[1]) {
		return Order{}, InvalidComment
	}

	order := Order{Username: strings.TrimPrefix(words[0], "@")}
	if !IsUsername(order.Username) {
		return Order{}, InvalidUsernameFormat
	}
	if len(words) == 1 {
		return order, nil
	}

	number, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil { // digits, but more than fit
		return Order{}, TooManyStars
	}

	order.Stars = number
	return order, CheckNumber(number, most)
}

// CheckNumber refuses a number of Stars that is not sold at a time. Errors are *Failure.
func CheckNumber(number, most int64) error {
	switch {
	case number < Least:
		return TooFewStars
	case number > most:
		return TooManyStars
	default:
		return nil
	}
}

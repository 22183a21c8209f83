// Package stars knows what a payment for Telegram Stars asks for, how many Stars it buys, and what each way to fail is
// called. It is pure: it does no I/O and keeps no state.
package stars

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Least is the smallest number of Stars that Fragment sells at a time.
const Least = 50

// Order is what the comment of a payment asks for.
type Order struct {
	Username string // whose Stars they will be, without the @
	Stars    int64  // how many; 0: as many as the payment buys
}

var (
	username = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{3,31}$`)
	digits   = regexp.MustCompile(`^[0-9]+$`)
)

// Parse reads a comment: a username, with or without @, and after white space, if the payer likes, a whole number of
// Stars. most is the largest number that is sold at a time. Errors are *Failure.
func Parse(comment string, most int64) (Order, error) {
	words := strings.Fields(comment)
	if strings.ContainsRune(comment, utf8.RuneError) || len(words) == 0 || len(words) > 2 || len(words) == 2 && !digits.MatchString(words[1]) {
		return Order{}, InvalidComment
	}

	order := Order{Username: strings.TrimPrefix(words[0], "@")}
	if !username.MatchString(order.Username) {
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

// CheckNumber says whether so many Stars are sold at a time. Errors are *Failure.
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

// Package stars has the rules for orders of Telegram Stars: how a comment is parsed, how many Stars an amount buys, and
// the name of each failure. It does no I/O and keeps no state.
package stars

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Least is the smallest number of Stars that Fragment sells at a time.
const Least = 50

// Order is the order in a payment's comment.
type Order struct {
	Username string // the receiver of the Stars, without the @
	Stars    int64  // how many; 0: as many as the payment buys
}

var (
	username = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{3,31}$`)
	digits   = regexp.MustCompile(`^[0-9]+$`)
	link     = regexp.MustCompile(`(?i)^(?:https?://)?(?:(?:t|telegram)\.me/([^/]+)|([^/.]+)\.t\.me)/?$`)
)

// IsUsername reports whether a text has the form of a username, without the @.
func IsUsername(text string) bool { return username.MatchString(text) }

// Username extracts the name from a person's input: it may follow an @ or be in a t.me link, and contain characters
// that are invisible or altered by keyboards and wallets. The result need not be a username.
func Username(text string) string {
	name := strings.TrimSpace(plain(text))
	if parts := link.FindStringSubmatch(name); parts != nil {
		name = parts[1] + parts[2]
	}
	return strings.TrimPrefix(name, "@")
}

// plain replaces full-width and other variants of characters by the usual ones, and removes invisible ones.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return r
	}, norm.NFKC.String(text))
}

// Parse reads a comment: a username, as accepted by Username, optionally followed by white space and an integer, the
// number of Stars. most is the largest number sold at a time. Errors are *Failure.
func Parse(comment string, most int64) (Order, error) {
	words := strings.Fields(plain(comment))
	if strings.ContainsRune(comment, utf8.RuneError) || len(words) == 0 || len(words) > 2 ||
		len(words) == 2 && !digits.MatchString(words[1]) {
		return Order{}, InvalidComment
	}

	order := Order{Username: Username(words[0])}
	if !IsUsername(order.Username) {
		return Order{}, InvalidUsernameFormat
	}
	if len(words) == 1 {
		return order, nil
	}

	number, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil { // digits, but more than fit
		return order, TooManyStars
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

// Package money counts nanoTON as integers that never overflow silently. It never uses a float.
package money

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Nano is an amount of nanoTON. It can hold about twice all TON that exist; differences may be negative.
type Nano int64

// TON is one TON in nanoTON.
const TON Nano = 1_000_000_000

// ErrOverflow means that a result is out of Nano's range.
var ErrOverflow = errors.New("the amount is out of range")

// Add returns n + m, or ErrOverflow.
func (n Nano) Add(m Nano) (Nano, error) {
	if sum := n + m; (sum > n) == (m > 0) {
		return sum, nil
	}
	return 0, ErrOverflow
}

// MulDiv returns n × times ÷ by, rounded down, or ErrOverflow. The intermediate product may exceed a Nano. None of the
// three may be negative, nor may by be zero.
func (n Nano) MulDiv(times, by int64) (Nano, error) {
	if min(int64(n), times, by) < 0 {
		return 0, ErrOverflow
	}

	high, low := bits.Mul64(uint64(n), uint64(times))
	if high >= uint64(by) { // also if by is zero
		return 0, ErrOverflow
	}

	quotient, _ := bits.Div64(high, low, uint64(by))
	if quotient > math.MaxInt64 {
		return 0, ErrOverflow
	}
	return Nano(quotient), nil
}

// String returns the amount in TON with as many decimals as needed: "0.4609".
func (n Nano) String() string {
	sign, whole := "", uint64(n)
	if n < 0 {
		sign, whole = "-", -whole // also correct for the smallest number
	}
	unit := uint64(TON)
	text := sign + strconv.FormatUint(whole/unit, 10)
	if rest := whole % unit; rest != 0 {
		text += strings.TrimRight(fmt.Sprintf(".%09d", rest), "0")
	}
	return text
}

// ParseTON reads an amount in TON, such as "0.4609" or "1,234.5". Signs, exponents and more than nine decimals are
// refused.
func ParseTON(text string) (Nano, error) {
	whole, decimals, point := strings.Cut(text, ".")
	if len(decimals) > 9 || point && decimals == "" {
		return 0, errNotTON
	}

	groups := strings.Split(whole, ",")
	for i, group := range groups {
		if group == "" || len(groups) > 1 && (i == 0 && len(group) > 3 || i > 0 && len(group) != 3) {
			return 0, errNotTON
		}
	}
	return ParseNano(strings.Join(groups, "") + decimals + strings.Repeat("0", 9-len(decimals)))
}

// ParseNano reads an integer of nanoTON, digits only.
func ParseNano(text string) (Nano, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, errNotNano
	}
	return Nano(n), nil
}

var (
	errNotTON  = errors.New("this is no amount in GRAM")
	errNotNano = errors.New("this is no amount in nanoTON")
)

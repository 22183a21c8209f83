package stars

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Category groups errors for the statistics.
type Category string

// The categories of the statistics.
const (
	UsernameError    Category = "Username Error"
	StarsAmountError Category = "Stars Amount Error"
	NetworkError     Category = "Network Error"
	WalletError      Category = "Wallet Error"
	FragmentError    Category = "Fragment API Error"
	OtherError       Category = "Other Error"
)

// patterns are what the messages of each category contain, in lower case. The first matching category applies.
var patterns = []struct {
	category Category
	parts    []string
}{
	{UsernameError, []string{"invalid username"}},
	{StarsAmountError, []string{"stars amount"}},
	{NetworkError, []string{"network", "timeout"}},
	{WalletError, []string{"wallet"}},
	{FragmentError, []string{"fragment"}},
}

// CategoryOf returns an error's category by its message. It ignores the case of ASCII letters only.
func CategoryOf(message string) Category {
	message = strings.Map(func(r rune) rune {
		if utf8.RuneLen(r) == 1 {
			return unicode.ToLower(r)
		}
		return r
	}, message)
	for _, p := range patterns {
		if slices.ContainsFunc(p.parts, func(part string) bool { return strings.Contains(message, part) }) {
			return p.category
		}
	}
	return OtherError
}

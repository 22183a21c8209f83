package stars

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/money"
)

const most = 1_000_000

func TestParse(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 32)
	for comment, want := range map[string]struct {
		order Order
		err   error
	}{
		"durov":              {Order{"durov", 0}, nil},
		"@durov":             {Order{"durov", 0}, nil},
		"Du_rov9":            {Order{"Du_rov9", 0}, nil},
		"abcd":               {Order{"abcd", 0}, nil},
		long:                 {Order{long, 0}, nil},
		" durov ":            {Order{"durov", 0}, nil},
		"durov\n":            {Order{"durov", 0}, nil},
		"durov 50":           {Order{"durov", 50}, nil},
		"@durov 1000":        {Order{"durov", 1000}, nil},
		"durov \t\u00a0 050": {Order{"durov", 50}, nil},
		"durov 1000000":      {Order{"durov", 1000000}, nil},

		"\u200e@durov 100":                         {Order{"durov", 100}, nil},
		"@durov\u200b 100\u2060":                   {Order{"durov", 100}, nil},
		"\ufeffdurov":                              {Order{"durov", 0}, nil},
		"\u2068@du\u00adrov\ufe0f\u2069 1\u200c00": {Order{"durov", 100}, nil},
		"\u3164durov \u115f50":                     {Order{"durov", 50}, nil},
		"＠ｄｕｒｏｖ＿９\u3000１００":                        {Order{"durov_9", 100}, nil},
		"durov ５０":                                 {Order{"durov", 50}, nil},
		"https://t.me/durov 100":                   {Order{"durov", 100}, nil},
		"HTTP://T.me/durov/":                       {Order{"durov", 0}, nil},
		"t.me/@durov":                              {Order{"durov", 0}, nil},
		"https://telegram.me/durov":                {Order{"durov", 0}, nil},
		"https://durov.t.me/ 60":                   {Order{"durov", 60}, nil},
		"\u200bhttps：／／t.me/durov\u200b 50":        {Order{"durov", 50}, nil},

		"durov 49":                   {err: TooFewStars},
		"durov 0":                    {err: TooFewStars},
		"durov 1000001":              {err: TooManyStars},
		"durov 99999999999999999999": {err: TooManyStars},
		"":                           {err: InvalidComment},
		"  ":                         {err: InvalidComment},
		"durov -50":                  {err: InvalidComment},
		"durov +50":                  {err: InvalidComment},
		"durov 50.0":                 {err: InvalidComment},
		"durov 1,000":                {err: InvalidComment},
		"durov 5e1":                  {err: InvalidComment},
		"durov ٥٠":                   {err: InvalidComment},
		"durov Stars":                {err: InvalidComment},
		"durov 50 Stars":             {err: InvalidComment},
		"50 durov":                   {err: InvalidComment},
		"hello my friend":            {err: InvalidComment},
		"durov\xff":                  {err: InvalidComment},

		"abc":                     {err: InvalidUsernameFormat},
		"a":                       {err: InvalidUsernameFormat},
		"@":                       {err: InvalidUsernameFormat},
		"@@durov":                 {err: InvalidUsernameFormat},
		"durov@":                  {err: InvalidUsernameFormat},
		long + "a":                {err: InvalidUsernameFormat},
		"1durov":                  {err: InvalidUsernameFormat},
		"_durov":                  {err: InvalidUsernameFormat},
		"du-rov":                  {err: InvalidUsernameFormat},
		"du.rov 50":               {err: InvalidUsernameFormat},
		"дуров":                   {err: InvalidUsernameFormat},
		"durov\x00":               {err: InvalidUsernameFormat},
		"t.me/":                   {err: InvalidUsernameFormat},
		"https://t.me/+AbCdEfGh":  {err: InvalidUsernameFormat},
		"https://t.me/durov/17":   {err: InvalidUsernameFormat},
		"https://t.me/durov?x=1":  {err: InvalidUsernameFormat},
		"https://t.me.com/durov":  {err: InvalidUsernameFormat},
		"https://example.org/abc": {err: InvalidUsernameFormat},
		"@t.me/durov":             {err: InvalidUsernameFormat},
		"\u200b\u2060":            {err: InvalidComment},
		"durov\u2028\u2029five":   {err: InvalidComment},
		"dᴜrov":                   {err: InvalidUsernameFormat},
		"'; DROP":                 {err: InvalidComment},
		"durov50":                 {Order{"durov50", 0}, nil},
		"@ durov":                 {err: InvalidComment},
		"50":                      {err: InvalidUsernameFormat},
		"abc 1":                   {err: InvalidUsernameFormat}, // the name is checked before the number
		"\u2003durov 99":          {Order{"durov", 99}, nil},
	} {
		got, err := Parse(comment, most)
		if !errors.Is(err, want.err) || err == nil && got != want.order {
			t.Errorf("%q: got %+v, %v", comment, got, err)
		}
	}
}

// FuzzParse accepts only a username and a number within the limits.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"durov", "@durov 50", "durov  1000000", "durov 49", "", "a b c", "durov\xff", "дуров 50", "durov 18446744073709551666", "\u200e＠durov\u2060 ５０", "https://t.me/durov 50"} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, comment string) {
		order, err := Parse(comment, most)
		if err != nil {
			var failure *Failure
			if !errors.As(err, &failure) || failure.Class != lifecycle.NonRetryable {
				t.Fatalf("%q: %v", comment, err)
			}
			return
		}
		if len(order.Username) < 4 || len(order.Username) > 32 || !strings.Contains(plain(comment), order.Username) ||
			strings.Trim(order.Username, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" ||
			order.Username[0] <= '9' || order.Username[0] == '_' {
			t.Fatalf("%q: username %q", comment, order.Username)
		}

		if order.Stars != 0 && (order.Stars < Least || order.Stars > most) || order.Stars == 0 && len(strings.Fields(plain(comment))) != 1 {
			t.Fatalf("%q: %d Stars", comment, order.Stars)
		}

		again, err := Parse("@"+order.Username+"  ", most)
		if err != nil || again.Username != order.Username {
			t.Fatalf("%q: %+v, %v", comment, again, err)
		}
	})
}

func TestBought(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		amount, price money.Nano
		want          int64
	}{
		{460_900_000, 460_900_000, 50},
		{460_899_999, 460_900_000, 49},
		{0, 1, 0},
		{-1, 1, 0},
		{1, 0, 0},
		{1, -1, 0},
		{math.MaxInt64, 1, math.MaxInt64},
		{9_218_000_000_000, 460_900_000, 1_000_000},
		{money.TON, 460_900_000, 108},
	} {
		if got := Bought(c.amount, c.price); got != c.want {
			t.Errorf("%d at %d: %d, want %d", c.amount, c.price, got, c.want)
		}
	}
}

// TestBoughtNeverCostsMore checks the arithmetic against its meaning: what is bought fits, one more Star does not.
func TestBoughtNeverCostsMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		amount := money.Nano(rapid.Int64Range(0, 1<<55).Draw(t, "amount"))
		price := money.Nano(rapid.Int64Range(1_000_000, 1<<40).Draw(t, "price"))
		n := Bought(amount, price)
		cost, err := price.MulDiv(n, Least)
		if err != nil || cost > amount {
			t.Fatalf("%d Stars cost %d", n, cost)
		}

		more, err := price.MulDiv(n+1, Least)
		if err != nil || more < amount { // the cost is rounded down, so it may just fit
			t.Fatalf("%d Stars would have cost %d", n+1, more)
		}

		dearer := price + money.Nano(rapid.Int64Range(0, 1<<30).Draw(t, "dearer"))
		if fewer := Fewer(n+1, dearer, amount); fewer > n+1 || fewer < 0 {
			t.Fatalf("fewer than %d: %d", n+1, fewer)
		}
	})
}

func TestFewer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		number        int64
		price, amount money.Nano
		want          int64
	}{
		{100, 1000, 999, 99},
		{100, 1000, 500, 50},
		{100, 1000, 1000, 99}, // always fewer, so that a search ends
		{100, 1000, 0, 0},
		{100, 0, 5, 0},
		{100, -1, 5, 0},
		{100, 1000, -1, 0},
		{math.MaxInt64, 1, math.MaxInt64, 0},
	} {
		if got := Fewer(c.number, c.price, c.amount); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestAcceptable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		price, quote money.Nano
		slippage     int64
		want         bool
	}{
		{1000, 1000, 0, true},
		{1001, 1000, 0, false},
		{999, 1000, 0, false},
		{990, 1000, 100, true},
		{989, 1000, 100, false},
		{1, 1000, 10_000, true},
		{1010, 1000, 100, true},
		{1011, 1000, 100, false},
		{0, 1000, 100, false},
		{-5, 1000, 100, false},
		{1, 0, 100, false},
		{0, 0, 100, false},
		{math.MaxInt64, math.MaxInt64, 100, false},
	} {
		if got := Acceptable(c.price, c.quote, c.slippage); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// TestSpelling pins the messages on which others rely.
func TestSpelling(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]struct {
		class    lifecycle.ErrorClass
		category Category
	}{
		"Invalid username":                                 {lifecycle.NonRetryable, UsernameError},
		"Invalid username format":                          {lifecycle.NonRetryable, UsernameError},
		"Username not found":                               {lifecycle.NonRetryable, OtherError},
		"Stars amount should be at least 50":               {lifecycle.NonRetryable, StarsAmountError},
		"Stars amount exceeds maximum limit":               {lifecycle.NonRetryable, StarsAmountError},
		"Invalid comment format":                           {lifecycle.NonRetryable, OtherError},
		"Insufficient amount":                              {lifecycle.NonRetryable, OtherError},
		"Failed to fetch: Network error":                   {lifecycle.Retryable, NetworkError},
		"Service unavailable: Fragment API returned 503":   {lifecycle.Retryable, FragmentError},
		"Service unavailable: Fragment API returned 429":   {lifecycle.Retryable, FragmentError},
		"Wallet service error: Could not send transaction": {lifecycle.Retryable, WalletError},
		"Authorization failed: Session expired":            {lifecycle.Retryable, OtherError},
		"what nobody has seen before":                      {lifecycle.UnknownError, OtherError},
		"":                                                 {lifecycle.UnknownError, OtherError},
	} {
		if got := Named(message); got.Class != want.class || CategoryOf(message) != want.category || message != "" && got.Message != message {
			t.Errorf("%q is %+v", message, *got)
		}
	}

	if Named("").Message == "" {
		t.Error("spelled otherwise")
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range Failures {
		if seen[f.Message] || f.Message == "" || Named(f.Message) != f || f.Error() != f.Message {
			t.Errorf("%+v", *f)
		}
		if f.Class == lifecycle.NonRetryable && !f.Final {
			t.Errorf("%s would be tried again", f.Message)
		}
		seen[f.Message] = true
	}
}

// TestFloatsLoseStars shows why money is integers here: the obvious float arithmetic sells a Star too few.
func TestFloatsLoseStars(t *testing.T) {
	t.Parallel()
	const price, fee = money.Nano(460_900_000), money.Nano(20_000_000)
	wrong := 0
	for packs := int64(1); packs <= 2000; packs++ {
		exact, err := price.MulDiv(packs, 1)
		if err != nil {
			t.Fatal(err)
		}

		ton := func(n money.Nano) float64 { return float64(n) / 1e9 }
		naive := int64(math.Floor((ton(exact+fee) - ton(fee)) * (Least / ton(price))))
		if got := Bought(exact, price); got != packs*Least {
			t.Errorf("%d: %d", exact, got)
		}

		if naive != packs*Least {
			wrong++
		}
	}

	if wrong == 0 {
		t.Error("floats would have done")
	}
}

package money

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestString(t *testing.T) {
	t.Parallel()
	for n, want := range map[Nano]string{
		0: "0", 1: "0.000000001", 460_900_000: "0.4609", TON: "1", -1_500_000_000: "-1.5", 1_234_000_000_000: "1234",
		math.MaxInt64: "9223372036.854775807", math.MinInt64: "-9223372036.854775808",
	} {
		if got := n.String(); got != want {
			t.Errorf("%d: %q, want %q", int64(n), got, want)
		}
	}
}

func TestParseTON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Nano{
		"0": 0, "0.4609": 460_900_000, "1,234.5": 1234*TON + TON/2, "12,345,678": 12_345_678 * TON, "0.000000001": 1,
		"123,456": 123_456 * TON, "1,234": 1234 * TON,
		"9223372036.854775807": math.MaxInt64,
	} {
		if got, err := ParseTON(text); err != nil || got != want {
			t.Errorf("%q: %d %v, want %d", text, int64(got), err, int64(want))
		}
	}

	for _, text := range []string{
		"", ".", ".5", "1.", "-1", "+1", "1e9", "0x1", "1_000", "1,2", "1,2345", ",123", "1,234,", "1234,567", "1.0000000001",
		"1.2,3", "9223372036.854775808", "٣", " 1", "1 ",
	} {
		if got, err := ParseTON(text); err == nil {
			t.Errorf("%q passes for %d", text, int64(got))
		}
	}
}

func TestArithmetic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		same := func(op string, got Nano, err error, want *big.Int) {
			if want.IsInt64() != (err == nil) || err == nil && int64(got) != want.Int64() || err != nil && !errors.Is(err, ErrOverflow) {
				t.Fatalf("%d %s %d: %d %v, want %s", a, op, b, int64(got), err, want)
			}
		}

		sum, err := Nano(a).Add(Nano(b))
		same("+", sum, err, new(big.Int).Add(big.NewInt(a), big.NewInt(b)))

		n, times, by := a&math.MaxInt64, b&math.MaxInt64, rapid.Int64Range(1, math.MaxInt64).Draw(t, "by")
		product, err := Nano(n).MulDiv(times, by)
		want := new(big.Int).Mul(big.NewInt(n), big.NewInt(times))
		same("×÷", product, err, want.Div(want, big.NewInt(by)))

		if again, err := ParseTON(Nano(n).String()); err != nil || again != Nano(n) {
			t.Fatalf("%d reads as %d (%v)", n, int64(again), err)
		}
	})
}

func TestAddLimits(t *testing.T) {
	t.Parallel()
	const most, least Nano = math.MaxInt64, math.MinInt64
	for _, c := range []struct {
		n, m, want Nano // n + m = want
	}{
		{0, 0, 0},
		{5, 0, 5},
		{-5, 0, -5},
		{5, 7, 12},
		{5, -7, -2},
		{-5, 5, 0},
		{most, 0, most},
		{most - 1, 1, most},
		{0, most, most},
		{least, 0, least},
		{least + 1, -1, least},
		{least, most, -1},
		{most, -most, 0},
	} {
		if got, err := c.n.Add(c.m); err != nil || got != c.want {
			t.Errorf("%d + %d: %d %v", c.n, c.m, got, err)
		}
	}

	for _, bad := range [][2]Nano{{most, 1}, {1, most}, {most, most}, {least, -1}, {-1, least}, {least, least}} {
		if got, err := bad[0].Add(bad[1]); !errors.Is(err, ErrOverflow) {
			t.Errorf("%d + %d: %d %v", bad[0], bad[1], got, err)
		}
	}
}

func TestMulDivLimits(t *testing.T) {
	t.Parallel()
	const most = math.MaxInt64
	for _, c := range []struct {
		n, times, by int64
		want         int64
	}{
		{most, 1, 1, most},
		{most, most, most, most},
		{0, most, 1, 0},
		{most, 0, most, 0},
		{1 << 62, 4, 3, (1<<62)/3*4 + 1}, // the product has 65 bits
	} {
		if got, err := Nano(c.n).MulDiv(c.times, c.by); err != nil || int64(got) != c.want {
			t.Errorf("%d × %d ÷ %d: %d %v, want %d", c.n, c.times, c.by, int64(got), err, c.want)
		}
	}

	for _, bad := range [][3]int64{
		{-1, 1, 1},
		{1, -1, 1},
		{-1, -1, 1},
		{1, 1, -1},
		{1, 1, 0},
		{0, 0, 0},
		{1 << 62, 2, 1}, // one more than the largest
		{1 << 62, 4, 1}, // the product's upper half equals the divisor
		{most, most, 1}, // larger
	} {
		if got, err := Nano(bad[0]).MulDiv(bad[1], bad[2]); !errors.Is(err, ErrOverflow) {
			t.Errorf("%v gives %d, %v", bad, int64(got), err)
		}
	}
}

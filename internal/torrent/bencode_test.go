package torrent

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestInteger(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"i0e": 0, "i42e": 42, "i-42e": -42, "i9223372036854775799e": 9223372036854775799, // the largest readable one
	} {
		r := &reader{data: []byte(text)}
		if got, err := r.integer(); err != nil || got != want || r.at != len(text) {
			t.Errorf("%s: got %d, %v at %d; want %d", text, got, err, r.at, want)
		}
	}

	for _, text := range []string{
		"", "i", "i-", "ie", "i-e", "i42", "42e", "x42e", "i4/2e", "i4:2e", "i4x2e", "i--42e",
		"i9223372036854775808e", "i9223372036854775819e", "i99999999999999999999e", // none of them fits
	} {
		r := &reader{data: []byte(text)}
		if got, err := r.integer(); !errors.Is(err, errForm) && !errors.Is(err, errCut) {
			t.Errorf("%q: got %d, %v", text, got, err)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"0:": "", "4:spam": "spam", "3:spam": "spa", "10:0123456789": "0123456789"} {
		r := &reader{data: []byte(text)}
		if got, err := r.text(); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}

	for text, want := range map[string]error{":spam": errForm, "x:spam": errForm, "-1:spam": errForm, "5:spam": errCut, "7:spam": errCut, "9223372036854775799:spam": errCut} {
		r := &reader{data: []byte(text)}
		if got, err := r.text(); !errors.Is(err, want) {
			t.Errorf("%s: got %q, %v; want %v", text, got, err, want)
		}
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	errElement := errors.New("an element was read")
	for _, text := range []string{"", "de", "i1e", "1:a"} {
		if err := (&reader{data: []byte(text)}).list(func() error { return errElement }); !errors.Is(err, errForm) {
			t.Errorf("%q is a list: %v", text, err)
		}
	}

	for _, text := range []string{"", "le", "i1e", "1:a"} {
		if err := (&reader{data: []byte(text)}).dictionary(func([]byte) error { return errElement }); !errors.Is(err, errForm) {
			t.Errorf("%q is a dictionary: %v", text, err)
		}
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string { return strings.Repeat("l", depth) + strings.Repeat("e", depth) }
	for text, want := range map[string]error{
		nested(maxDepth):                      nil,
		nested(maxDepth + 1):                  errDepth,
		"l" + strings.Repeat("le", 500) + "e": nil, // side by side
	} {
		if err := (&reader{data: []byte(text)}).skip(); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", len(text), err, want)
		}
	}
}

// TestContent lists what a dictionary info must contain to describe a content.
func TestContent(t *testing.T) {
	t.Parallel()
	const (
		length = "6:lengthi5e"
		pieces = "6:pieces20:pppppppppppppppppppp"
		size   = "12:piece lengthi16384e"
		tree   = "9:file treed1:ad0:d6:lengthi5eeee"
		second = "12:meta versioni2e"
	)

	files := func(entry string) string { return "5:filesld" + entry + "ee" }

	for name, c := range map[string]struct {
		info   string
		v1, v2 bool
	}{
		"one file":               {length + size + pieces, true, false},
		"an empty file":          {"6:lengthi0e" + size + pieces, true, false},
		"files":                  {files("6:lengthi1e4:pathl1:ae") + size + pieces, true, false},
		"an empty file of some":  {files("6:lengthi0e4:pathl1:ae") + size + pieces, true, false},
		"two pieces":             {length + size + "6:pieces40:" + strings.Repeat("p", 40), true, false},
		"a tree":                 {tree + second + size, false, true},
		"both":                   {tree + length + second + size + pieces, true, true},
		"a tree of old version":  {tree + "12:meta versioni1e" + length + size + pieces, true, false},
		"a bare tree":            {tree + size, false, false},
		"a version without tree": {second + size, false, false},
		"an empty tree":          {"9:file treede" + second + size, false, false},
		"no file":                {size + pieces, false, false},
		"a negative length":      {"6:lengthi-1e" + size + pieces, false, false},
		"no pieces":              {length + size, false, false},
		"empty pieces":           {length + size + "6:pieces0:", false, false},
		"half a piece":           {length + size + "6:pieces10:pppppppppp", false, false},
		"pieces without size":    {length + pieces, false, false},
		"pieces of no size":      {length + "12:piece lengthi0e" + pieces, false, false},
		"a negative size":        {length + "12:piece lengthi-1e" + pieces, false, false},
		"a file without length":  {files("4:pathl1:ae") + size + pieces, false, false},
		"a negative one":         {files("6:lengthi-1e4:pathl1:ae") + size + pieces, false, false},
		"a file without path":    {files("6:lengthi1e") + size + pieces, false, false},
		"an empty path":          {files("6:lengthi1e4:pathle") + size + pieces, false, false},
	} {
		id, _, err := Identify(fmt.Appendf(nil, "d4:infod%see", c.info))
		if (id.V1 != "") != c.v1 || (id.V2 != "") != c.v2 || (err == nil) != (c.v1 || c.v2) {
			t.Errorf("%s: got %+v, %v", name, id, err)
		}
	}
}

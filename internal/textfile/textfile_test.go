package textfile

import (
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"":                           "",
		"a":                          "a",
		"[\"ё\"]\r\n":                "[\"ё\"]\r\n",
		"\xef\xbb\xbf[\"ё\"]":        "[\"ё\"]",
		"\xef\xbb\xbf":               "",
		"\xff\xfe":                   "",
		"\xfe\xff":                   "",
		"\xff\xfe[\x00\x51\x04]\x00": "[ё]",
		"\xfe\xff\x00[\x04\x51\x00]": "[ё]",
		"\xff\xfe\x3d\xd8\x00\xde\x0d\x00\x0a\x00": "😀\r\n", // a surrogate pair
		"in the text \ufeff too, and \ufffd":       "in the text \ufeff too, and \ufffd",
	} {
		if got, err := Decode([]byte(data)); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", data, got, err)
		}
	}

	for name, data := range map[string]string{
		"UTF-16 little endian without a mark": "[\x00]\x00",
		"UTF-16 big endian without a mark":    "\x00[\x00]",
		"UTF-32":                              "\xff\xfe\x00\x00[\x00\x00\x00",
		"Windows-1251":                        "[\"\xb8\"]",
		"broken UTF-8":                        "secret\xff",
		"broken UTF-8 after a mark":           "\xef\xbb\xbfsecret\xff",
		"half a character of UTF-16":          "\xff\xfe[\x00]",
		"half a pair of UTF-16":               "\xff\xfe\x3d\xd8]\x00",
		"a binary file":                       "\x7fELF\x00",
	} {
		if got, err := Decode([]byte(data)); err == nil || got != nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

package tool

import (
	"encoding/json"
	"testing"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "",
		"A title, \"plain\" <b> ёж 漢字": "A title, \"plain\" <b> ёж 漢字",
		"two\nlines\tand a tab":        "two\nlines\tand a tab",
		"bell\a":                       `bell\u{7}`,
		"\x1b[31mred\x1b[0m":           `\u{1b}[31mred\u{1b}[0m`,
		"back\rward":                   `back\u{d}ward`,
		"\u202eright to left":          `\u{202e}right to left`,
		"zero\u200bwidth\ufeff":        `zero\u{200b}width\u{feff}`,
		"\U000e0061\U000e007f":         `\u{e0061}\u{e007f}`,
		"private \ue000":               `private \u{e000}`,
		"not a character \uffff":       `not a character \u{ffff}`,
		"line\u2028end":                `line\u{2028}end`,
		"👩\u200d👩\u200d👧 ❤\ufe0f":      "👩\u200d👩\u200d👧 ❤\ufe0f",
		"می\u200cخواهم":                "می\u200cخواهم",
		"a\u200d\u200c\u200d\ufe0fb":   "a\u200d" + `\u{200c}\u{200d}\u{fe0f}b`,
		"\u200dbegins":                 `\u{200d}begins`,
		"e\u0301":                      "e\u0301",
		"\xff":                         "\ufffd",
		"hangul filler \u3164 \u115f":  `hangul filler \u{3164} \u{115f}`,
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
		if again := Visible(Visible(text)); again != want {
			t.Errorf("%q is shown as %q the second time", text, again)
		}
	}
}

func TestDocumentsOfOthersAreVisible(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(JSON(`{"a\u200b": ["\u202e", 1, null, {"deep": "\u0007"}], "n": 12345678901234567890}`))
	want := `{"a\\u{200b}":["\\u{202e}",1,null,{"deep":"\\u{7}"}],"n":12345678901234567890}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

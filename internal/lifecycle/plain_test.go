package lifecycle

import "testing"

// TestPlain finds texts with nothing visible.
func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", " \t\n": "", "\u200b": "", "\u3164\u3164": "", "\u2800": "", "\u00a0\u2003": "", "\ufeff": "", "\u200d\u2060": "", "\u115f\u1160": "", "\uffa0": "",
		"\u034f": "", "\ufe0f": "", "\u202e": "", " \u200b \u3164 ": "",
		" a ": "a", "❤️": "❤️", "👩\u200d👧": "👩\u200d👧", ".": ".", "ㄱ": "ㄱ", "क्\u200d": "क्\u200d", "\u200ba": "\u200ba", "मे": "मे",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestAKeyThatIsNotAllowed says which character or which length is wrong with it.
func TestAKeyThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	file := w.file("/films/a.mkv", 1000)
	for key, want := range map[string]string{
		"two words":              "character 4 is U+0020",
		"ключ":                   "character 1 is U+043A",
		strings.Repeat("x", 256): "has 256 characters: at most 255",
	} {
		answer := w.deliver(w.adaToken, file, key)
		if got := fmt.Sprint(answer.body["errors"]); answer.status != http.StatusUnprocessableEntity || !strings.Contains(got, want) || !strings.Contains(got, "Idempotency-Key") {
			t.Errorf("%.10q: %d %v, want %q", key, answer.status, answer.body, want)
		}
	}
}

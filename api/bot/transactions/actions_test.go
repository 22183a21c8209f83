package transactions

import (
	"strings"
	"testing"

	"stagecoach/api/bot/chat"
)

func TestHashesInButtons(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("9f", 32)
	data := chat.Press("x", "xy", packHash(hash), 999_999)[0].CallbackData
	if len(data) > 64 || unpackHash(strings.Split(data, ":")[1]) != hash {
		t.Errorf("%q", data)
	}
	for _, packed := range []string{"", "%"} {
		if got := unpackHash(packed); got != "" {
			t.Errorf("%q gave %q", packed, got)
		}
	}
}

package deliveries

import (
	"strings"
	"testing"

	"stagecoach/api/bot/chat"
)

func TestPlacesFitOnButtons(t *testing.T) {
	t.Parallel()
	const longest = 1<<63 - 1
	where := place{folder: longest, page: 9999}
	if data := chat.Press("x", "d", int64(longest), chat.Nonce(), where)[0].CallbackData; len(data) > 64 {
		t.Errorf("%q has %d bytes", data, len(data))
	}
	if again := placeOf(strings.Split(where.String(), ":")); again != where {
		t.Errorf("%v became %v", where, again)
	}
}

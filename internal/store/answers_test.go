package store_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// TestRequestIDs draws keys of any length: an id fits Temporal's limit, is legible if that fits, and identifies only
// one request.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[!-~]{1,20}`)
	rapid.Check(t, func(r *rapid.T) {
		length := rapid.OneOf(rapid.IntRange(1, 255), rapid.IntRange(230, 255)).Draw(r, "length")
		key := strings.Repeat(text.Draw(r, "text"), 255)[:length]
		a := core.Request{UserID: rapid.Int64Min(1).Draw(r, "user"), Key: key}
		b := core.Request{UserID: a.UserID, Key: key[:len(key)-1] + text.Draw(r, "end")[:1]}
		plain := fmt.Sprintf("%d/%s", a.UserID, key)

		switch id := a.ID(); {
		case len(plain) <= 255 && id != plain:
			r.Errorf("%q has become %q", plain, id)
		case len(id) > 255:
			r.Errorf("%d bytes: %q", len(id), id)
		case (id == b.ID()) != (a == b):
			r.Errorf("%q names %+v and %+v", id, a, b)
		}
	})
}

// TestAnswersUnderLongKeys finds what a request known only to the record stored under a key too long for an id.
func TestAnswersUnderLongKeys(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	key := strings.Repeat("k", 255)
	_, err := o.Tasks.Comment(
		t.Context(), o.made(task.NewTask{})[0].ID, "c", core.Request{UserID: o.bob.ID, Key: key, Asked: "a comment"},
	)

	o.must(err)
	var kept any
	if found, err := o.Answers.Answered(t.Context(), core.Request{UserID: o.bob.ID, Key: key, Asked: "a comment"}, &kept); !found || err != nil {
		t.Errorf("found %t, %v", found, err)
	}

	_, err = o.Answers.Answered(t.Context(), core.Request{UserID: o.bob.ID, Key: key, Asked: "a claim"}, &kept)
	if fault.CodeOf(err) != fault.Validation {
		t.Errorf("the key serves twice: %v", err)
	}
}

package tool

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"stagecoach/internal/fault"
)

// confirmable is how long a preview may be confirmed.
const confirmable = 5 * time.Minute

// Confirmed is the answer of a tool that acts in two steps: first a preview, then what was done.
type Confirmed[T any] struct {
	Done         bool       `json:"done" jsonschema:"false: nothing has happened yet"`
	Now          T          `json:"now"`
	Confirmation string     `json:"confirmation,omitempty" jsonschema:"call again with it and the same arguments to do it"`
	ExpiresAt    *time.Time `json:"expires_at,omitempty"`
}

// Step is a tool in two steps. In is its arguments without the confirmation.
type Step[In, Before, Shown any] struct {
	Warns  func(in In) string // what the preview says, in our own words
	Before func(ctx context.Context, c *Call, in In) (Before, error)
	Do     func(ctx context.Context, c *Call, in In, key Key) (Before, error)
	Show   func(Before) Shown
}

// Arguments are those of a tool in two steps.
type Arguments[In any] interface {
	Split() (arguments In, confirmation string)
}

// NewConfirmed makes a tool that acts in two steps. The confirmation is bound to caller, tool and arguments, and to
// what the preview showed: when that has changed, it is worth nothing. Its key is the caller's own token, which those
// who write what agents read do not have, and which every process of the API sees.
func NewConfirmed[Whole Arguments[In], In, Before, Shown any](a About, s Step[In, Before, Shown]) Tool {
	a.Description += " The first call changes nothing: it gives a preview and a confirmation."
	t := New(a, func(ctx context.Context, c *Call, whole Whole) (answer Answer[Confirmed[Shown]], err error) {
		in, confirmation := whole.Split()
		before, err := s.Before(ctx, c, in)
		if err != nil {
			return answer, err
		}

		if confirmation == "" {
			until := time.Now().Add(confirmable).Truncate(time.Second).UTC()
			token, err := seal(c, a.Name, in, before, until)
			return Answer[Confirmed[Shown]]{
				Value:   Confirmed[Shown]{Now: s.Show(before), Confirmation: token, ExpiresAt: &until},
				Summary: s.Warns(in) + " Nothing has happened yet: to do it, call again with the confirmation.",
			}, err
		}

		if err := unseal(c, a.Name, in, before, confirmation); err != nil {
			return answer, err
		}

		after, err := s.Do(ctx, c, in, keyOf(confirmation))
		return Answer[Confirmed[Shown]]{Value: Confirmed[Shown]{Done: true, Now: s.Show(after)}, Summary: "It is done."}, err
	})

	t.output.Properties["now"] = &jsonschema.Schema{Type: "object", Description: "what it is about"}
	return t
}

// seal makes a confirmation.
func seal(c *Call, name string, in, before any, until time.Time) (string, error) {
	document, err := json.Marshal([]any{name, strconv.FormatInt(c.Who.User.ID, 10), until.Unix(), in, before})
	if err != nil {
		return "", err
	}

	mac := hmac.New(sha256.New, []byte("confirmation "+c.api.Token))
	mac.Write(document)
	raw := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(raw)), nil
}

// unseal refuses a confirmation that is not for this.
func unseal(c *Call, name string, in, before any, confirmation string) error {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(confirmation)
	if err != nil || len(raw) != 8+sha256.Size {
		return fault.Invalid("confirmation", "this is no confirmation: call without one to get it")
	}

	until := time.Unix(int64(binary.BigEndian.Uint64(raw)), 0)
	expected, err := seal(c, name, in, before, until)
	switch {
	case err != nil:
		return err
	case !hmac.Equal([]byte(expected), []byte(confirmation)):
		return fault.Invalid(
			"confirmation",
			"this confirms other arguments, or what the preview showed has changed: call without a confirmation, and look again",
		)
	case time.Now().After(until):
		return fault.Invalid("confirmation", "this confirmation has expired: call without one, and look again")
	default:
		return nil
	}
}

// keyOf makes a confirmed call that is sent twice one request.
func keyOf(confirmation string) Key {
	sum := sha256.Sum256([]byte(confirmation))
	return Key("confirmed-" + hex.EncodeToString(sum[:16]))
}

package codec

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

func key(id string) Key { return Key{ID: id, Secret: bytes.Repeat([]byte(id[:1]), KeySize)} }

func newCodec(t *testing.T, encrypt bool, keys ...Key) *Codec {
	t.Helper()
	c, err := New(keys, encrypt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func plain() *commonpb.Payload {
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte("json/plain"), "messageType": []byte("planted")},
		Data:     []byte(`"planted"`),
	}
}

func encode(t *testing.T, c *Codec) *commonpb.Payload {
	t.Helper()
	encoded, err := c.Encode([]*commonpb.Payload{plain()})
	if err != nil {
		t.Fatal(err)
	}
	return encoded[0]
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	c := newCodec(t, true, key("a"))
	first, second := encode(t, c), encode(t, c)
	if strings.Contains(first.String(), "planted") {
		t.Errorf("readable: %s", first)
	}
	if more := proto.Size(first) - proto.Size(plain()); more != 83+len("a") {
		t.Errorf("a payload grows by %d bytes", more)
	}
	if bytes.Equal(first.Data, second.Data) {
		t.Error("the same twice: the nonce is not random")
	}

	again, err := c.Encode([]*commonpb.Payload{first})
	if err != nil || !proto.Equal(again[0], first) {
		t.Errorf("encrypted twice: %v, %v", again, err)
	}

	decoded, err := c.Decode([]*commonpb.Payload{first, plain(), second})
	if err != nil || slices.ContainsFunc(decoded, func(p *commonpb.Payload) bool { return !proto.Equal(p, plain()) }) {
		t.Errorf("decoded %v, %v", decoded, err)
	}
}

// TestRotation reads what older keys encrypted, even when encryption is off.
func TestRotation(t *testing.T) {
	t.Parallel()
	old := encode(t, newCodec(t, true, key("a")))
	for name, c := range map[string]*Codec{"rotated": newCodec(t, true, key("b"), key("a")), "off": newCodec(t, false, key("a"))} {
		if decoded, err := c.Decode([]*commonpb.Payload{old}); err != nil || !proto.Equal(decoded[0], plain()) {
			t.Errorf("%s: %v, %v", name, decoded, err)
		}
	}

	if id := string(encode(t, newCodec(t, true, key("b"), key("a"))).Metadata[MetadataKeyID]); id != "b" {
		t.Errorf("encrypted with %q", id)
	}
	if p := encode(t, newCodec(t, false, key("a"))); !proto.Equal(p, plain()) {
		t.Errorf("off, and encrypted: %s", p)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c := newCodec(t, true, key("a"), key("b"))
	change := func(change func(*commonpb.Payload)) error {
		p := encode(t, c)
		change(p)
		_, err := c.Decode([]*commonpb.Payload{p})
		return err
	}

	unknown := change(func(p *commonpb.Payload) { p.Metadata[MetadataKeyID] = []byte("2025") })
	if !errors.Is(unknown, ErrUnknownKey) || !strings.Contains(unknown.Error(), `"2025"`) {
		t.Errorf("an unknown key gave %v", unknown)
	}

	for name, err := range map[string]error{
		"another key's id": change(func(p *commonpb.Payload) { p.Metadata[MetadataKeyID] = []byte("b") }),
		"a changed byte":   change(func(p *commonpb.Payload) { p.Data[20] ^= 1 }),
		"cut off":          change(func(p *commonpb.Payload) { p.Data = p.Data[:5] }),
	} {
		if err == nil || errors.Is(err, ErrUnknownKey) {
			t.Errorf("%s gave %v", name, err)
		}
	}

	// The same secret under another id: the id is bound.
	twin := newCodec(t, true, Key{ID: "b", Secret: key("a").Secret})
	p := encode(t, c)
	p.Metadata[MetadataKeyID] = []byte("b")
	if _, err := twin.Decode([]*commonpb.Payload{p}); err == nil {
		t.Error("a payload passed as another key's")
	}
	if _, err := New(nil, true); err == nil {
		t.Error("a codec without keys")
	}
	if _, err := New([]Key{{ID: "a", Secret: []byte("short")}}, true); err == nil {
		t.Error("a codec with a short key")
	}
}

// TestFailures hides messages and keeps types, by which workflows decide.
func TestFailures(t *testing.T) {
	t.Parallel()
	var o client.Options
	newCodec(t, true, key("a")).Apply(&o)
	failure := o.FailureConverter.ErrorToFailure(temporal.NewApplicationError("planted message", "CODE", "planted detail"))
	if text := failure.String(); strings.Contains(text, "planted") || !strings.Contains(text, "CODE") {
		t.Errorf("the failure is %s", text)
	}

	var read *temporal.ApplicationError
	if !errors.As(o.FailureConverter.FailureToError(failure), &read) || read.Message() != "planted message" || read.Type() != "CODE" {
		t.Errorf("read back: %v", read)
	}
}

// TestStrict panics in a workflow, and only for a missing key.
func TestStrict(t *testing.T) {
	t.Parallel()
	var ours, others client.Options
	newCodec(t, true, key("a")).ApplyToWorkers(&ours)
	newCodec(t, true, key("b")).Apply(&others)
	theirs, err := others.DataConverter.ToPayloads("planted")
	if err != nil {
		t.Fatal(err)
	}

	var text string
	if err := ours.DataConverter.FromPayloads(theirs, &text); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("outside of workflows: %v", err)
	}

	inWorkflow := ours.DataConverter.(converter.ContextAware).WithWorkflowContext(nil)
	plain, err := converter.GetDefaultDataConverter().ToPayloads("text")
	if err != nil {
		t.Fatal(err)
	}

	var number int
	if err := inWorkflow.FromPayloads(plain, &number); err == nil {
		t.Error("a text was read as a number")
	}
	defer func() {
		if cause := recover(); cause == nil || strings.Contains(cause.(string), "planted") {
			t.Errorf("in workflows: %v", cause)
		}
	}()

	_ = inWorkflow.FromPayloads(theirs, &text)
}

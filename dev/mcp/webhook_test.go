package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/dev/wait"
)

// received is a request to a webhook, with the secret that verifies it.
type received struct {
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// TestStandardWebhooksVerifies has the package standardwebhooks verify what webhooks send: with the secret, with both
// secrets after a rotation, and not with another one or after a modification.
func TestStandardWebhooksVerifies(t *testing.T) {
	program, folder := node(t)
	script := copied(t, folder, "webhook.mjs")
	sent := make(chan received, 1000)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, rq *http.Request) {
		body, err := io.ReadAll(rq.Body)
		if err != nil {
			return
		}
		headers := map[string]string{}
		for name := range rq.Header {
			headers[strings.ToLower(name)] = rq.Header.Get(name)
		}
		sent <- received{Headers: headers, Body: string(body)}
	}))
	t.Cleanup(receiver.Close)

	api := &client.Client{Base: running.Info.API, Token: running.Info.UserToken}
	call := func(path string, body any) shape.Webhook {
		t.Helper()
		hook, err := client.Ask[shape.Webhook](t.Context(), api, client.Call{Method: http.MethodPost, Path: path, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		return hook
	}

	made := call("/v1/webhooks", map[string]any{"address": receiver.URL})
	path := "/v1/webhooks/" + made.ID
	t.Cleanup(func() {
		_, _, _ = api.Send(t.Context(), client.Call{Method: http.MethodDelete, Path: path})
	})
	call(path+"/test", nil)
	var tested shape.Webhook
	wait.Eventually(t, "the outcome of the test event is known", func() bool { // a busy worker sends it after the answer
		var err error
		tested, err = client.Ask[shape.Webhook](t.Context(), api, client.Call{Method: http.MethodGet, Path: path})
		return err == nil && tested.Test != nil && tested.Test.At != nil
	})
	if tested.Test.Error != nil {
		t.Fatalf("the test event: %s", *tested.Test.Error)
	}
	before := next(t, sent, "webhook.test", "")
	rotated := call(path+"/rotate", nil)
	call(path+"/test", nil)
	after := next(t, sent, "webhook.test", before.Headers["webhook-id"])

	by := func(r received, secret string) received { r.Secret = secret; return r }
	forged := by(before, made.Secret)
	forged.Body = strings.Replace(forged.Body, "webhook.test", "webhook.best", 1)
	cases := []received{
		by(before, made.Secret), by(after, made.Secret), by(after, rotated.Secret),
		by(before, rotated.Secret), forged,
	}

	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	verify := exec.CommandContext(t.Context(), program, script)
	verify.Stdin = bytes.NewReader(input)
	output, err := verify.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}

	var results []struct{ Type, Error string }
	if err := json.Unmarshal(output, &results); err != nil {
		t.Fatal(err)
	}
	var verified []bool
	for _, result := range results {
		verified = append(verified, result.Type == "webhook.test" && result.Error == "")
	}
	if want := []bool{true, true, true, false, false}; !slices.Equal(verified, want) {
		t.Errorf("verified are %v, want %v: %s", verified, want, output)
	}
}

// next returns the next request with an event of a type, which is not a repetition of another one.
func next(t *testing.T, sent <-chan received, kind, other string) received {
	t.Helper()
	for patience := time.After(wait.Patience); ; {
		select {
		case r := <-sent:
			if strings.Contains(r.Body, `"`+kind+`"`) && r.Headers["webhook-id"] != other {
				return r
			}
		case <-patience:
			t.Fatalf("no %s arrives", kind)
		}
	}
}

package rest_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"

	"stagecoach/internal/codec"
	"stagecoach/internal/store/account"
)

const webUI = "http://127.0.0.1:8233"

var payloads = func() *codec.Codec {
	c, err := codec.New([]codec.Key{{ID: "k1", Secret: []byte(strings.Repeat("k", codec.KeySize))}}, true)
	if err != nil {
		panic(err)
	}
	return c
}()

// ask sends a request to the codec.
func (w *rig) ask(method, path, body string, headers ...string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}

	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()

	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer, string(text)
}

// encryptedBody is a request to decrypt "planted".
func encryptedBody(t *testing.T) string {
	t.Helper()
	value, err := converter.GetDefaultDataConverter().ToPayload("planted")
	if err != nil {
		t.Fatal(err)
	}

	encrypted, err := payloads.Encode([]*commonpb.Payload{value})
	if err != nil {
		t.Fatal(err)
	}

	body, err := protojson.Marshal(&commonpb.Payloads{Payloads: encrypted})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestCodec lets administrators read payloads, with a token or a browser's password, and only from the Web UI's pages.
func TestCodec(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	body, planted := encryptedBody(t), base64.StdEncoding.EncodeToString([]byte(`"planted"`))
	bearer := "Bearer " + w.adminToken
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("anybody:"+w.adminToken))

	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"an administrator":     {[]string{"Authorization", bearer}, 200},
		"with the namespace":   {[]string{"Authorization", bearer, "X-Namespace", "default"}, 200},
		"from the Web UI":      {[]string{"Authorization", basic, "Origin", webUI}, 200},
		"nobody":               {nil, 401},
		"a stranger":           {[]string{"Authorization", "Bearer sc_unknown"}, 401},
		"a user":               {[]string{"Authorization", "Bearer " + w.adaToken}, 403},
		"a blocked admin":      {[]string{"Authorization", "Bearer " + w.blockedToken}, 403},
		"another page":         {[]string{"Authorization", bearer, "Origin", "http://127.0.0.1:8234"}, 403},
		"another namespace":    {[]string{"Authorization", bearer, "X-Namespace", "theirs"}, 422},
		"a password of a user": {[]string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("a:"+w.adaToken))}, 403},
	} {
		answer, got := w.ask("POST", "/codec/decode", body, c.headers...)
		if answer.StatusCode != c.status || strings.Contains(got, planted) != (c.status == 200) {
			t.Errorf("%s: %d %s", name, answer.StatusCode, got)
		}
	}

	// The audit log has who read how many payloads, but no content; refusals too.
	entries, err := w.store.Accounts.AuditLog(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, e := range entries {
		if e.Action == "codec-decode" && e.Outcome == account.OutcomeDone {
			if read++; *e.ActorID != w.admin.ID || e.Subject != "payloads/1" {
				t.Errorf("audited as %+v", e)
			}
		}
	}
	if read != 3 {
		t.Errorf("%d of 3 successful readings are audited", read)
	}

	if answer, _ := w.ask("POST", "/codec/decode", body); !strings.HasPrefix(answer.Header.Get("WWW-Authenticate"), "Basic ") {
		t.Error("a browser is not asked for a password")
	}
	if answer, _ := w.ask("GET", "/codec/", "", "Authorization", basic); answer.StatusCode != 200 {
		t.Errorf("the browser's way in: %d", answer.StatusCode)
	}

	answer, _ := w.ask("OPTIONS", "/codec/decode", "", "Origin", webUI, "Access-Control-Request-Method", "POST")
	if answer.StatusCode != 204 || answer.Header.Get("Access-Control-Allow-Origin") != webUI || answer.Header.Get("Access-Control-Allow-Credentials") != "true" {
		t.Errorf("asked beforehand: %d %v", answer.StatusCode, answer.Header)
	}
	if answer, _ = w.ask("OPTIONS", "/codec/decode", "", "Origin", "http://evil.example"); answer.StatusCode != 403 || answer.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("asked beforehand by a stranger: %d %v", answer.StatusCode, answer.Header)
	}
	if _, got := w.ask("POST", "/codec/encode", `{"payloads":[{"metadata":{"encoding":"anNvbi9wbGFpbg=="},"data":"MQ=="}]}`, "Authorization", bearer); !strings.Contains(got, base64.StdEncoding.EncodeToString([]byte(codec.Encoding))) {
		t.Errorf("encoded: %s", got)
	}

	other := strings.Replace(
		body, base64.StdEncoding.EncodeToString([]byte("k1")), base64.StdEncoding.EncodeToString([]byte("k2")), 1,
	)
	if answer, got := w.ask("POST", "/codec/decode", other, "Authorization", bearer); answer.StatusCode != 400 || !strings.Contains(got, `"k2"`) {
		t.Errorf("an unknown key: %d %s", answer.StatusCode, got)
	}
}

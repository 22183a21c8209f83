package telegramsim

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"stagecoach/dev/sim/simtest"
)

const testToken = "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// telegramTest returns a served simulator with one user, number 7, and the URL of the bot's methods.
func telegramTest(t testing.TB, change func(*Options)) (*Server, string) {
	t.Helper()
	o := Options{Dir: t.TempDir(), Token: testToken}
	if change != nil {
		change(&o)
	}

	tg, err := New(o)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = tg.Close() })
	tg.SendMessage(7, "/start")
	return tg, simtest.Serve(t, tg) + "/bot" + testToken + "/"
}

// botReply is the answer to a Bot API call.
type botReply struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int `json:"retry_after"`
	} `json:"parameters"`
}

// bot calls a Bot API method with JSON parameters.
func bot(t testing.TB, base, method string, params map[string]any) botReply {
	t.Helper()
	status, body := simtest.Do(t, "POST", base+method, params)
	var reply botReply
	if err := json.Unmarshal(body, &reply); err != nil {
		t.Fatalf("%s: %d %q: %v", method, status, body, err)
	}
	return reply
}

// must fails the test when the reply is an error and decodes the result into v, unless that is nil.
func (r botReply) must(t testing.TB, v any) {
	t.Helper()
	if !r.OK {
		t.Fatalf("%d %s", r.ErrorCode, r.Description)
	}
	if v != nil {
		if err := json.Unmarshal(r.Result, v); err != nil {
			t.Fatal(err)
		}
	}
}

// wants fails the test unless the reply is this error.
func (r botReply) wants(t testing.TB, code int, description string) {
	t.Helper()
	if r.OK || r.ErrorCode != code || !strings.Contains(r.Description, description) {
		t.Fatalf("got %v %d %q, want %d %q", r.OK, r.ErrorCode, r.Description, code, description)
	}
}

// form is a multipart body with the given fields and, last, one file.
func form(t testing.TB, fields map[string]string, part, name string, content []byte) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for k, v := range fields {
		if err := w.WriteField(k, v); err != nil {
			t.Fatal(err)
		}
	}

	f, err := w.CreateFormFile(part, name)
	if err != nil {
		t.Fatal(err)
	}

	_, _ = f.Write(content)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

// sendFile uploads a document to user 7.
func sendFile(t testing.TB, base, name string, content []byte) (*http.Response, error) {
	t.Helper()
	body, contentType := form(t, map[string]string{"chat_id": "7"}, "document", name, content)
	r, err := http.NewRequestWithContext(t.Context(), "POST", base+"sendDocument", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	return http.DefaultClient.Do(r)
}

// sendFileReply uploads a document that must get a response.
func sendFileReply(t testing.TB, base, name string, content []byte) botReply {
	t.Helper()
	response, err := sendFile(t, base, name, content)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()

	var reply botReply
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
		t.Fatalf("%d: %v", response.StatusCode, err)
	}
	return reply
}

// documents counts the files that user 7 received.
func documents(tg *Server) (n int) {
	for _, m := range tg.Chat(7).Messages {
		if m.Document != nil {
			n++
		}
	}
	return n
}

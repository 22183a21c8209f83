package telegram

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mymmrac/telego"

	"stagecoach/internal/fault"
)

// TestAnswers sends a message to servers with different answers. Only Telegram's own JSON tells what became of the
// message, unless a gateway or an interrupted server wrote it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const page = "<html><head><title>502 Bad Gateway</title></head><body><hr><center>nginx</center></body></html>"
	refusal := func(code int, description string) string {
		return fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q}`, code, description)
	}

	for name, c := range map[string]struct {
		status     int
		body       string
		code       fault.Code // "": success
		retryable  bool
		unanswered bool
	}{
		"done":                     {status: 200, body: `{"ok":true,"result":{"message_id":1,"date":1,"chat":{"id":1,"type":"private"}}}`},
		"a bad request":            {status: 400, body: refusal(400, "Bad Request: message text is empty"), code: fault.TelegramRejected},
		"a wrong token":            {status: 401, body: refusal(401, "Unauthorized"), code: fault.TelegramUnauthorized},
		"a token nobody knows":     {status: 404, body: refusal(404, "Not Found"), code: fault.TelegramUnauthorized},
		"blocked":                  {status: 403, body: refusal(403, "Forbidden: bot was blocked by the user"), code: fault.TelegramForbidden},
		"no such chat":             {status: 400, body: refusal(400, "Bad Request: chat not found"), code: fault.TelegramForbidden},
		"another file":             {status: 400, body: refusal(400, "Bad Request: wrong file identifier"), code: fault.TelegramFileID},
		"an old reference":         {status: 400, body: refusal(400, "Bad Request: FILE_REFERENCE_EXPIRED"), code: fault.TelegramFileID},
		"an empty reference":       {status: 400, body: refusal(400, "Bad Request: FILE_REFERENCE_EMPTY"), code: fault.TelegramFileID},
		"a numbered reference":     {status: 400, body: refusal(400, "Bad Request: FILE_REFERENCE_0_EXPIRED"), code: fault.TelegramFileID},
		"a wrong file_id":          {status: 400, body: refusal(400, "Bad Request: FILE_ID_INVALID"), code: fault.TelegramFileID},
		"a file_id of nothing":     {status: 400, body: refusal(400, "Bad Request: wrong file_id or the file is temporarily unavailable"), code: fault.TelegramFileID},
		"a file of another kind":   {status: 400, body: refusal(400, "Bad Request: type of file mismatch"), code: fault.TelegramFileID},
		"a remote one":             {status: 400, body: refusal(400, "Bad Request: wrong remote file identifier specified: Wrong string length"), code: fault.TelegramFileID},
		"too big":                  {status: 413, body: refusal(413, "Request Entity Too Large"), code: fault.FileTooBig},
		"slow down":                {status: 429, body: refusal(429, "Too Many Requests: retry after 3"), code: fault.TelegramRateLimited, retryable: true},
		"an error of its own":      {status: 500, body: refusal(500, "Internal Server Error"), code: fault.TelegramUnavailable, retryable: true},
		"interrupted by a restart": {status: 500, body: refusal(500, "Internal Server Error: restart"), code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"aborted by a restart":     {status: 500, body: refusal(500, "Internal Server Error: Request aborted"), code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"its front's 502":          {status: 502, body: refusal(502, "Bad Gateway"), code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"its front's 503":          {status: 503, body: refusal(503, "Service Unavailable"), code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"its front's 504":          {status: 504, body: refusal(504, "Gateway Timeout"), code: fault.TelegramUnavailable, retryable: true, unanswered: true},

		"a proxy's 500":           {status: 500, body: page, code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"a proxy's 502":           {status: 502, body: page, code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"a proxy's 503":           {status: 503, body: page, code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"a proxy's 504":           {status: 504, body: page, code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"a proxy's empty 500":     {status: 500, code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"a proxy's empty 502":     {status: 502, code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"a proxy's JSON":          {status: 502, body: `{"message":"bad gateway"}`, code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"a proxy's own refusal":   {status: 403, body: page, code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"a proxy's missing page":  {status: 404, body: page, code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"a proxy that is polite":  {status: 200, body: page, code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"nothing at all, with OK": {status: 200, code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"a proxy's limit":         {status: 429, body: page, code: fault.TelegramRateLimited, retryable: true, unanswered: true},
		"an empty 413":            {status: 413, code: fault.FileTooBig, unanswered: true},
		"half of an answer":       {status: 200, body: `{"ok":true,"result":{"message_id":1`, code: fault.TelegramUnavailable, retryable: true, unanswered: true},
		"a message that is none":  {status: 200, body: `{"ok":true,"result":"done"}`, code: fault.TelegramUnavailable, retryable: true, unanswered: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := send(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			})

			if c.code == "" {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}

			if err == nil {
				t.Fatal("it passes for done")
			}
			if got := Classify(err); got.Code != c.code || got.Retryable != c.retryable {
				t.Errorf("it is %s (retryable: %t), want %s (%t)", got.Code, got.Retryable, c.code, c.retryable)
			}
			if got := Unanswered(err); got != c.unanswered {
				t.Errorf("unanswered: %t, want %t (%v)", got, c.unanswered, err)
			}
		})
	}
}

// TestNoAnswer loses the connection before and after the request was accepted.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	err := send(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if !Unanswered(err) {
		t.Errorf("a connection that broke is unanswered: %v", err)
	}

	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	if err := sendTo(t, server.URL); err == nil || Unanswered(err) {
		t.Errorf("a server that is away has got nothing: %v", err)
	}
}

func send(t *testing.T, answer http.HandlerFunc) error {
	t.Helper()
	server := httptest.NewServer(answer)
	defer server.Close()
	return sendTo(t, server.URL)
}

func sendTo(t *testing.T, url string) error {
	t.Helper()
	bot, err := New(Options{
		Token: "7000000001:AAnotATokenOfAnybodyAtAllButLongEno", APIURL: url, ConnectTimeout: 10 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = bot.SendMessage(t.Context(), &telego.SendMessageParams{ChatID: telego.ChatID{ID: 1}, Text: "hello"})
	return err
}

// TestFolderUnreadable distinguishes a server that cannot read the shared folder from one that rejects the file.
func TestFolderUnreadable(t *testing.T) {
	t.Parallel()
	for description, want := range map[string]bool{
		"Bad Request: wrong remote file identifier specified: can't unserialize it. Wrong last symbol": true,
		"Bad Request: wrong file identifier/HTTP URL specified":                                        true,
		"Bad Request: Unsupported URL protocol":                                                        true,
		"Bad Request: can't get real path: realpath failed":                                            true,
		"Bad Request: invalid file HTTP URL specified: Unsupported URL protocol":                       true,
		"Bad Request: wrong HTTP URL specified":                                                        true,
		"Bad Request: file not found":                                                                  true,
		"Bad Request: chat not found":                                                                  false,
		"Bad Request: file must be non-empty":                                                          false,
	} {
		err := send(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"ok":false,"error_code":400,"description":%q}`, description)
		})
		if got := FolderUnreadable(err); got != want {
			t.Errorf("%s: %t", description, got)
		}
	}
	if FolderUnreadable(nil) {
		t.Error("a success is a refusal")
	}
}

// TestFileIDs are found wherever an answer has them.
func TestFileIDs(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"document": "F", "audio": "F", "video": "F", "animation": "F", "voice": "F", "sticker": "F", "contact": "",
	} {
		var m telego.Message
		if err := json.Unmarshal([]byte(`{"message_id":1,"`+kind+`":{"file_id":"F"}}`), &m); err != nil {
			t.Fatal(err)
		}
		if got := FileID(&m); got != want {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

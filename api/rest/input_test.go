package rest_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
)

const (
	unprocessable = http.StatusUnprocessableEntity
	badRequest    = http.StatusBadRequest
)

func TestQueriesThatAreWrong(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.bank()
	lists := []string{
		"/v1/files", "/v1/deliveries", "/v1/workspaces", "/v1/tasks", "/v1/books", "/v1/downloads", "/v1/transactions",
		"/v1/users", "/v1/audit", "/v1/findings",
	}

	for _, list := range lists {
		for _, limit := range []string{"0", "-1", "201", "x", "1.5", "1e2", "99999999999999999999", "%00", "+1+"} {
			w.send(w.adminToken, "GET", list+"?limit="+limit, nil).refused(unprocessable, fault.Validation, "limit")
		}

		for _, cursor := range []string{"x", "-1", "%00", "%ff", "ZmlsZXM", "bm9uc2Vuc2UgMQ", "ZmlsZXMgLTE", "ZmlsZXMgeA==", strings.Repeat("A", 5000)} {
			w.send(w.adminToken, "GET", list+"?cursor="+cursor, nil).refused(unprocessable, fault.Validation, "cursor")
		}

		w.send(w.adminToken, "GET", list+"?nonsense=1", nil).refused(unprocessable, fault.Validation, "nonsense")
		w.send(w.adminToken, "GET", list+"?limit=%zz", nil).refused(badRequest, fault.Validation, "query")
		w.send(w.adminToken, "GET", list+"?a;b=1", nil).refused(badRequest, fault.Validation, "query")
		w.send(w.adminToken, "GET", list+"?limit=200", nil).ok(http.StatusOK)
		w.send(w.adminToken, "GET", list+"?limit=&cursor=", nil).ok(http.StatusOK)
	}

	// One list's cursor is invalid for another.
	w.deliver(w.adaToken, w.file("/a", 1), "1")
	w.deliver(w.adaToken, w.file("/a", 1), "2")
	cursor := w.send(w.adminToken, "GET", "/v1/deliveries?limit=1", nil).ok(http.StatusOK).body["next_cursor"].(string)
	w.send(w.adminToken, "GET", "/v1/users?cursor="+cursor, nil).refused(unprocessable, fault.Validation, "cursor")

	for _, state := range []string{"queued", "NONE", "QUEUED,FAILED", "%00"} {
		w.send(w.adaToken, "GET", "/v1/deliveries?state="+state, nil).refused(unprocessable, fault.Validation, "state")
		w.send(w.adminToken, "GET", "/v1/users?status="+state, nil).refused(unprocessable, fault.Validation, "status")
	}

	for _, path := range []string{"films", "/films/", "//", "/a/../b", "/.", "%00", "/%00", "/%ff", "/" + strings.Repeat("a", 1024)} {
		w.send(w.adaToken, "GET", "/v1/files?path="+path, nil).refused(unprocessable, fault.Validation, "path")
	}

	for _, q := range []string{"%00", "%ff", "%20", "a%0Ab", strings.Repeat("a", 256)} {
		w.send(w.adaToken, "GET", "/v1/files?q="+q, nil).refused(unprocessable, fault.Validation, "q")
	}

	w.send(w.adaToken, "GET", "/v1/files?q=a&path=/films", nil).refused(unprocessable, fault.Validation, "path")
	for _, id := range []string{"x", "1", "1-", "-1-1", "1-1-1", "01-1", "1-99999999999999999999", "%00"} {
		w.send(
			w.adaToken, "GET", "/v1/events?last_event_id="+id, nil,
		).refused(unprocessable, fault.Validation, "last_event_id")
	}

	w.send(
		w.adaToken, "GET", "/v1/events", nil, "Last-Event-ID", "x",
	).refused(unprocessable, fault.Validation, "Last-Event-ID")
	w.send(w.adminToken, "GET", "/v1/status?x=1", nil).refused(unprocessable, fault.Validation, "x")
}

// wrongBody is a body that is refused, and the field that the problem names.
type wrongBody struct{ body, field string }

// wrongBodies sends bodies that are invalid for certain calls, and bodies that are invalid for all of them.
func (w *rig) wrongBodies(token string, calls map[string][]wrongBody) {
	w.t.Helper()
	for call, cases := range calls {
		method, target, _ := strings.Cut(call, " ")
		send := func(body string, headers ...string) reply {
			return w.send(token, method, target, body, append([]string{"Idempotency-Key", "k"}, headers...)...)
		}

		for _, c := range cases {
			send(c.body).refused(unprocessable, fault.Validation, c.field)
		}
		for _, body := range []string{"{", `{"a"`, "x", `{"name":"x"} {}`, "\x00", "\xff\xfe", strings.Repeat("[", 20_000)} {
			send(body).refused(badRequest, fault.Validation, "body")
		}
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/xml", ";+", "multipart/form-data"} {
			send(`{}`, "Content-Type", kind).refused(http.StatusUnsupportedMediaType, fault.MediaType, "body")
		}
	}
}

func TestBodiesThatAreWrong(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	user := fmt.Sprintf("/v1/users/%d", w.ada.ID)
	w.wrongBodies(w.adminToken, map[string][]wrongBody{
		"POST /v1/deliveries": {
			{`{}`, "file_id"},
			{`{"file_id":null}`, "file_id"},
			{`{"file_id":1}`, "file_id"},
			{`{"file_id":""}`, "file_id"},
			{`{"file_id":"x"}`, "file_id"},
			{`{"file_id":"-1"}`, "file_id"},
			{`{"file_id":"0"}`, "file_id"},
			{`{"file_id":"01"}`, "file_id"},
			{`{"file_id":" 1"}`, "file_id"},
			{`{"file_id":"1e3"}`, "file_id"},
			{`{"file_id":"9999999999999999999"}`, "file_id"},
			{`{"file_id":["1"]}`, "file_id"},
			{`{"file_id":{}}`, "file_id"},
			{`{"file_id":true}`, "file_id"},
			{`{"file_id":"\u0000"}`, "file_id"},
			{`{"file_id":"1","user_id":"2"}`, "user_id"},
			{`{"FILE_ID":"1"}`, "file_id"},
			{`{"file_id":"1","a.b":1}`, "a.b"},
			{`[]`, "body"},
			{`"1"`, "body"},
			{`null`, "body"},
			{`1`, "body"},
		},
		"POST /v1/users": {
			{`{}`, "name"},
			{`{"name":""}`, "name"},
			{`{"name":"  "}`, "name"},
			{`{"name":null}`, "name"},
			{`{"name":7}`, "name"},
			{`{"name":"a\u0000b"}`, "name"},
			{`{"name":"a\nb"}`, "name"},
			{`{"name":"` + strings.Repeat("x", 101) + `"}`, "name"},
			{`{"name":"x","role":"ROOT"}`, "role"},
			{`{"name":"x","role":""}`, "role"},
			{`{"name":"x","role":1}`, "role"},
			{`{"name":"x","language":"de"}`, "language"},
			{`{"name":"x","telegram_id":0}`, "telegram_id"},
			{`{"name":"x","telegram_id":-5}`, "telegram_id"},
			{`{"name":"x","telegram_id":"x"}`, "telegram_id"},
			{`{"name":"x","telegram_id":1.5}`, "telegram_id"},
			{`{"name":"x","telegram_id":1e300}`, "telegram_id"},
			{`{"name":"x","telegram_id":"99999999999999999999"}`, "telegram_id"},
			{`{"name":"x","telegram_id":true}`, "telegram_id"},
			{`{"name":"x","telegram_id":[1]}`, "telegram_id"},
			{`{"name":"x","status":"ACTIVE"}`, "status"},
			{`{"name":"x","token":"t"}`, "token"},
		},
		"PATCH " + user: {
			{`{}`, "body"},
			{`{"status":"GONE"}`, "status"},
			{`{"status":1}`, "status"},
			{`{"role":"root"}`, "role"},
			{`{"name":""}`, "name"},
			{`{"name":"a\u0007"}`, "name"},
			{`{"telegram_id":5}`, "telegram_id"},
			{`{"id":"5"}`, "id"},
			{`{"role":null}`, "body"},
			{`[]`, "body"},
		},
	})
	if rows := w.audited(); len(rows) != 0 {
		t.Errorf("what was never done is audited: %v", rows)
	}
}

func TestTheIdempotencyKey(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	file := w.file("/a", 1)
	body := map[string]any{"file_id": fmt.Sprint(file.ID)}
	w.send(w.adaToken, "POST", "/v1/deliveries", body).refused(unprocessable, fault.Validation, "Idempotency-Key")
	for key, want := range map[string]string{
		"": "", " ": "", "é": "", "two words": "character 4 is U+0020", "ключ": "character 1 is U+043A",
		strings.Repeat("x", 256): "has 256 characters: at most 255",
	} {
		answer := w.deliver(w.adaToken, file, key).refused(unprocessable, fault.Validation, "Idempotency-Key")
		if got := fmt.Sprint(answer.body["errors"]); !strings.Contains(got, want) {
			t.Errorf("%.10q: %s, want %q", key, got, want)
		}
	}
	w.deliver(w.adaToken, file, strings.Repeat("~", 255)).ok(http.StatusCreated)
	w.deliver(w.adaToken, file, `!"#$%&'()*+,-./:;<=>?@[\]^_{|}`).ok(http.StatusCreated)
}

func TestBodiesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	const small, mib = 64 << 10, 1 << 20
	fill := func(size int) string {
		const frame = `{"name":"x","role":"USER","x":""}`
		return `{"name":"x","role":"USER","x":"` + strings.Repeat("y", size-len(frame)) + `"}`
	}

	// The answer to a large body comes early, and its connection is closed soon after: a slow client may miss it.
	post := func(path string, size int, known bool) (answer reply) {
		t.Helper()
		wait.Eventually(t, "an answer of "+path, func() bool {
			var body io.Reader = strings.NewReader(fill(size))
			if !known {
				body = io.NopCloser(body)
			}
			r, err := http.NewRequestWithContext(t.Context(), "POST", w.url+path, body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+w.adminToken)
			if known {
				r.Header.Set("Content-Type", "application/json")
			}
			answer, err = w.attempt(http.DefaultClient, r)
			return err == nil
		})
		return answer
	}

	tooLarge := func(r reply, most string) {
		t.Helper()
		r.refused(http.StatusRequestEntityTooLarge, fault.BodyTooLarge, "body")
		if !strings.Contains(r.body["detail"].(string), most) {
			t.Errorf("the bound of %s is not told:\n%s", most, r.raw)
		}
	}

	for path, bound := range map[string]struct {
		bytes int
		told  string
	}{
		"/v1/users": {small, "64 KiB"}, "/v1/tasks": {256 << 10, "256 KiB"}, "/v1/tasks/batch": {mib, "1 MiB"},
	} {
		post(path, bound.bytes, true).refused(unprocessable, fault.Validation, "x")
		tooLarge(post(path, bound.bytes+1, true), bound.told)
		for _, size := range []int{bound.bytes + 1, 3 * mib} {
			tooLarge(post(path, size, false), bound.told)
		}
	}

	tooLarge(post("/v1/users/1/token", mib+1, true), "1 MiB") // which takes no body
}

// TestBrokenHTTP sends what no client library would send.
func TestBrokenHTTP(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	for _, body := range []string{"zz\r\n{}\r\n0\r\n\r\n", "2\r\n{}XX0\r\n\r\n"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}

		_, _ = fmt.Fprintf(
			conn,
			"POST /v1/users HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n%s",
			w.adminToken, body,
		)

		answer, _ := io.ReadAll(conn)
		_ = conn.Close()
		if !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") || !strings.Contains(string(answer), `"field":"body"`) {
			t.Errorf("%q is answered with\n%s", body, answer)
		}
	}
}

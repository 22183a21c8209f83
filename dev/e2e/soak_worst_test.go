package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"stagecoach/internal/store/account"
)

const (
	bombBytes = 1<<20 - 1<<10  // of a body, just below the limit of any operation
	flooder   = int64(800_000) // a chat to which Telegram only lets the bot write now and then
	bystander = int64(800_001) // a chat whose answers are measured
)

// worst starts attacks that once brought the service down: bodies full of errors, unread responses, large graphs, a
// chat that Telegram throttles, and forged cookies.
func (a *abuser) worst(again func(times int, what func(n int)), over <-chan struct{}) {
	a.soak.Helper()
	space, _ := a.asks("POST", "/v1/workspaces", map[string]any{"name": "Graphs"}).body["id"].(string)
	graph := entangled(space)
	scopes := errorBomb(`{"name":"a","scopes":[`, `0`, `]}`)
	batch := errorBomb(`{"workspace_id":"1","tasks":[`, `{}`, `]}`)

	again(2, func(int) { a.sends("POST", "/v1/tokens", scopes) })
	again(2, func(int) { a.sends("POST", "/v1/tasks/batch", batch) })
	again(2, func(int) { a.sends("POST", "/v1/tasks/batch", graph) })
	again(10, func(int) { a.readsNothing(over, "GET /openapi.json", nil) })
	again(10, func(int) { a.readsNothing(over, "POST /v1/tasks/batch", batch) })
	again(4, func(int) { a.makesUpACookie() })

	again(1, func(int) {
		a.telegram.SendMessage(flooder, "/help")
		time.Sleep(100 * time.Millisecond)
	})
}

// errorBomb is a body of almost 1 MiB with a list in which each item is invalid.
func errorBomb(before, item, after string) []byte {
	items := strings.Repeat(item+",", (bombBytes-len(before)-len(after))/(len(item)+1))
	return []byte(before + strings.TrimSuffix(items, ",") + after)
}

// entangled is a batch of 500 tasks, each blocked by the 100 before it: ten times the limit.
func entangled(space string) []byte {
	const blockers = 100
	var body bytes.Buffer
	fmt.Fprintf(&body, `{"workspace_id":%q,"tasks":[`, space)
	for i := range 500 {
		fmt.Fprintf(&body, `%s{"ref":"t%d","title":"t","blocked_by":[`, strings.Repeat(",", min(i, 1)), i)
		for j := max(0, i-blockers); j < i; j++ {
			fmt.Fprintf(&body, `%s"t%d"`, strings.Repeat(",", min(j-max(0, i-blockers), 1)), j)
		}
		body.WriteString(`]}`)
	}
	body.WriteString(`]}`)
	return body.Bytes()
}

// sends sends a raw body, and discards the response.
func (a *abuser) sends(method, path string, body []byte) {
	request, err := http.NewRequestWithContext(a.soak.Context(), method, a.soak.apiURL+path, bytes.NewReader(body))
	must(a.soak, err)
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("Content-Type", "application/json")
	a.does(method+" "+path, request)
}

// makesUpACookie opens a page with a session that does not exist.
func (a *abuser) makesUpACookie() {
	request, err := http.NewRequestWithContext(a.soak.Context(), http.MethodGet, a.soak.apiURL+"/account", nil)
	must(a.soak, err)
	request.AddCookie(&http.Cookie{Name: "stagecoach", Value: account.NewSecret()})
	a.does("a made-up cookie", request)
}

// refusedPause is the pause between requests of which almost all are refused: with a fifth of it their bodies would
// fill a gigabit line, and the others would mostly feel the abuser's own work on this machine.
const refusedPause = 100 * time.Millisecond

func (a *abuser) does(what string, request *http.Request) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		a.note(what, 0)
		time.Sleep(refusedPause)
		return
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	a.note(what, response.StatusCode)
	time.Sleep(refusedPause)
}

// readsNothing repeatedly sends a request on its own connection, and never reads. It ends when the service hangs up, or
// with the abuse.
func (a *abuser) readsNothing(over <-chan struct{}, route string, body []byte) {
	defer time.Sleep(100 * time.Millisecond)
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.soak.apiURL, "http://"))
	if err != nil {
		a.note(route+", unread", 0)
		return
	}

	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-over:
		case <-ended:
		}
		_ = conn.Close()
	}()

	request := fmt.Sprintf("%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", route, a.token, len(body), body)
	for err == nil {
		_, err = conn.Write([]byte(request))
		a.note(route+", unread", 1)
		time.Sleep(100 * time.Millisecond)
	}
}

// answersIn counts the bot's messages in a chat.
func (s *soak) answersIn(chat int64) (count int) {
	for _, message := range s.telegram.Chat(chat).Messages {
		if message.FromBot {
			count++
		}
	}
	return count
}

// forgetPeak starts a new measurement of the API's peak memory. Where the system does not report it, it stays 0.
func (s *soak) forgetPeak() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.api.Process.Pid), []byte("5"), 0)
}

// peak is the API's peak memory in MB since then.
func (s *soak) peak() int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.api.Process.Pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kilobytes, _ := strconv.Atoi(strings.Fields(after + " 0")[0])
	return kilobytes / 1000
}

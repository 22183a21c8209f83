package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// answer is a response of the HTTP API.
type answer struct {
	status int
	body   map[string]any
}

// seen keeps every response of the API, to search them for secrets.
type seen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// call calls the HTTP API; headers come in pairs.
func (s *rig) call(method, path, token string, body any, headers ...string) answer {
	s.Helper()
	encoded, err := json.Marshal(body)
	must(s, err)
	request, err := http.NewRequestWithContext(s.Context(), method, s.apiURL+path, bytes.NewReader(encoded))
	must(s, err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}
	}
	defer response.Body.Close()

	text, err := io.ReadAll(response.Body)
	if err != nil { // the API was killed in mid-response
		return answer{}
	}
	s.answers.mu.Lock()
	s.answers.text.Write(text)
	s.answers.mu.Unlock()
	got := answer{status: response.StatusCode}
	if err := json.Unmarshal(text, &got.body); err != nil && len(text) > 0 {
		s.Fatalf("%s %s answered %d with %q", method, path, got.status, text)
	}

	return got
}

// want fails the test unless the response has that status, and returns its body.
func (a answer) want(t testing.TB, status int) map[string]any {
	t.Helper()
	if a.status != status {
		t.Fatalf("answered %d %v, want %d", a.status, a.body, status)
	}
	return a.body
}

// apiUser creates a user through the API and returns their token; the chat exists already.
func (s *rig) apiUser(name string, telegramID int64) (id, token string) {
	s.Helper()
	s.telegram.SendMessage(telegramID, "/start")
	wait.Eventually(s, "the bot knows the user", func() bool {
		user, err := s.store.Accounts.UserByTelegram(s.Context(), telegramID)
		id = strconv.FormatInt(user.ID, 10)
		return err == nil
	})
	s.call("PATCH", "/v1/users/"+id, adminToken, map[string]any{"status": "ACTIVE", "name": name}).want(s, 200)
	token, _ = s.call("POST", "/v1/users/"+id+"/token", adminToken, nil).want(s, 200)["token"].(string)
	return id, token
}

// listedFile finds a file of the top folder through the API.
func (s *rig) listedFile(token, name string) string {
	s.Helper()
	for _, item := range s.call("GET", "/v1/files?path=/&limit=200", token, nil).want(s, 200)["items"].([]any) {
		if entry := item.(map[string]any); entry["name"] == name {
			return entry["file_id"].(string)
		}
	}
	s.Fatalf("%s is not listed", name)
	return ""
}

func TestThroughHTTP(t *testing.T) {
	t.Parallel()
	s := newRig(t, nil)
	traces := s.collectTraces()
	s.startWorker()
	s.startAPI()
	_, token := s.apiUser("Ann", 100)
	_, sum := s.file("report.pdf", 1<<20)
	fileID := s.listedFile(token, "report.pdf")

	events := s.follow(token, "")
	made := s.call("POST", "/v1/deliveries", token, map[string]any{"file_id": fileID}, "Idempotency-Key", "one").want(t, 201)
	s.wantState(s.ended(s.jobOf(made["id"].(string))), lifecycle.DeliveryDelivered, "")
	s.wantDocument(100, sum)
	wait.Eventually(s, "the stream has every transition", func() bool {
		return slices.Equal(events.types(), []string{"enqueued", "claimed", "download_started", "streaming_started", "delivered"})
	})

	s.call("GET", "/v1/status", token, nil).want(t, 403)
	s.call("GET", "/v1/status", adminToken, nil).want(t, 200)
	refused := false
	for _, item := range s.call("GET", "/v1/audit", adminToken, nil).want(t, 200)["items"].([]any) {
		refused = refused || item.(map[string]any)["outcome"] == "refused"
	}

	if !refused {
		t.Error("a user's try to see the status is not in the audit log")
	}

	s.wantTrace(traces, []string{
		"POST /v1/deliveries", "StartWorkflow:Delivery", "RunWorkflow:Delivery", "StartActivity:Deliver",
		"RunActivity:Deliver", "yandex open", "telegram sendDocument",
	}, []string{"report.pdf", "Ann", token, adminToken, botToken, refreshToken, s.env["STAGECOACH_YANDEX_API_URL"]})
}

// press presses the newest button whose label contains text.
func (s *rig) press(user int64, text string) {
	s.Helper()
	wait.Eventually(s, "a button "+text, func() bool {
		messages := s.telegram.Chat(user).Messages
		for _, message := range slices.Backward(messages) {
			for _, row := range message.Buttons {
				for _, button := range row {
					if !message.Deleted && strings.Contains(button.Text, text) {
						return s.telegram.Click(user, button.Data) == nil
					}
				}
			}
		}

		return false
	})
}

// says waits until a message of the bot contains text.
func (s *rig) says(user int64, text string) {
	s.Helper()
	wait.Eventually(s, fmt.Sprintf("the bot says %q", text), func() bool {
		return slices.ContainsFunc(s.telegram.Chat(user).Messages, func(m telegramsim.Message) bool {
			return m.FromBot && !m.Deleted && strings.Contains(m.Text, text)
		})
	})
}

func TestThroughBot(t *testing.T) {
	t.Parallel()
	s := newRig(t, nil)
	traces := s.collectTraces()
	s.startWorker()
	_, sum := s.file("кино.mkv", 1<<20)
	s.telegram.SendMessage(1, "/start") // the administrator's chat
	s.startAPI()
	s.telegram.SendMessage(100, "/start")
	s.press(1, "Approve")
	wait.Eventually(s, "the user is active", func() bool {
		user, err := s.store.Accounts.UserByTelegram(t.Context(), 100)
		return err == nil && user.Status == account.UserActive
	})
	s.telegram.SendMessage(100, "/files")
	s.press(100, "кино")
	s.press(100, "Download")
	wait.Eventually(s, "the document", func() bool { return len(s.documents(100)) == 1 })
	s.wantDocument(100, sum)
	s.says(100, "elivered")
	s.telegram.SendMessage(100, "/status")
	wait.Eventually(s, "the refusal is audited", func() bool {
		entries, err := s.store.Accounts.AuditLog(t.Context(), 0, 10)
		return err == nil && slices.ContainsFunc(entries, func(e account.AuditEntry) bool {
			return e.Door == account.DoorBot && e.Outcome == account.OutcomeRefused
		})
	})

	s.wantTrace(traces, []string{"bot /files", "StartWorkflow:Delivery", "RunWorkflow:Delivery", "RunActivity:Deliver", "telegram sendDocument"},
		[]string{"кино", botToken, adminToken, s.env["STAGECOACH_YANDEX_API_URL"]})
}

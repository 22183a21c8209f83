package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"stagecoach/internal/sim"
	"stagecoach/internal/store"
)

// TestNothingSecretIsTold makes a full run with successes and failures, then searches all logs, histories and answers
// of the API for what must not be there.
func TestNothingSecretIsTold(t *testing.T) {
	t.Parallel()
	const chat = 777000123
	s := newStack(t, map[string]string{"STAGECOACH_DELIVERY_SHORT_RETRY_AFTER": "1s", "STAGECOACH_DELIVERY_CONNECT_TIMEOUT": "300ms"})
	s.startWorker()
	s.telegram.SendMessage(1, "/start")
	s.startAPI()
	_, token := s.apiUser("Planted Person", chat)
	_, stranger := s.apiUser("Another Person", chat+1)
	for i, c := range []struct {
		telegram, yandex *sim.Fault
		state            store.JobState
	}{
		{state: store.JobDelivered},
		{telegram: &sim.Fault{Kind: "500", Times: 3}, state: store.JobFailed},
		{telegram: &sim.Fault{Kind: "cut", AfterBytes: 1000, Times: 1}, state: store.JobDelivered},
		{telegram: &sim.Fault{Kind: "lost_answer", Times: 1}, state: store.JobFailed},
		{telegram: &sim.Fault{Kind: "blocked", Times: 1}, state: store.JobFailed},
		{telegram: &sim.Fault{Kind: "429", RetryAfter: 1, Times: 1}, state: store.JobDelivered},
		{yandex: &sim.Fault{Match: "GET /download/", Kind: "cut", AfterBytes: 1000, Times: 1}, state: store.JobDelivered},
		{yandex: &sim.Fault{Match: "resources", Kind: "500", Times: 3}, state: store.JobFailed},
		{yandex: &sim.Fault{Match: "resources", Kind: "401", Times: 1}, state: store.JobDelivered},
	} {
		name := "planted-file-" + string(rune('a'+i)) + ".bin"
		s.file(name, 4<<20)
		fileID := s.listedFile(token, name)
		if c.telegram != nil {
			c.telegram.Match = "sendDocument"
			s.telegram.AddFault(*c.telegram)
		}
		if c.yandex != nil {
			s.yandex.AddFault(*c.yandex)
		}
		path := "/v1/deliveries/" + s.call("POST", "/v1/deliveries", token, map[string]any{"file_id": fileID}, "Idempotency-Key", name).want(t, 201)["id"].(string)
		s.eventually(30*time.Second, name+" ends "+string(c.state), func() bool {
			return s.call("GET", path, token, nil).want(t, 200)["state"] == string(c.state)
		})
		s.telegram.ClearFaults()
		s.yandex.ClearFaults()
		s.call("GET", path, stranger, nil).want(t, 404)
	}
	// Bot API and storage that cannot be reached, and doors that refuse.
	s.telegram.AddFault(sim.Fault{Match: "sendMessage", Kind: "cut", Times: 2})
	s.telegram.SendMessage(chat, "/files")
	s.telegram.SendMessage(chat, "/status")
	s.call("GET", "/v1/status", token, nil).want(t, 403)
	s.call("GET", "/v1/status", adminToken, nil).want(t, 200)
	s.call("GET", "/v1/files?path=/", "sc_wrong-token", nil).want(t, 401)
	time.Sleep(time.Second)

	technical := []string{botToken, clientSecret, refreshToken, adminToken, "aplantedbottoken", "/download/", "OAuth ", "Bearer "}
	personal := []string{"777000123", "Planted Person", "planted-file"}
	search(t, "the logs", s.log.String(), slices.Concat(technical, personal, []string{token, stranger}))
	search(t, "the histories", s.histories(), slices.Concat(technical, personal, []string{token}))
	search(t, "the answers", s.answers.text.String(), append(technical, "127.0.0.1", "disk:", ".go:", "pgx", "SQLSTATE"))
}

// search fails the test when text holds one of these, in any letter case.
func search(t *testing.T, where, text string, secrets []string) {
	t.Helper()
	if len(text) < 1000 {
		t.Errorf("%s are too short to prove anything", where)
	}
	lower := strings.ToLower(text)
	for _, secret := range secrets {
		if at := strings.Index(lower, strings.ToLower(secret)); at >= 0 {
			t.Errorf("%s tell %q: …%s…", where, secret, text[max(0, at-200):min(len(text), at+100)])
		}
	}
}

// histories gives every history of every workflow as text.
func (s *stack) histories() string {
	s.Helper()
	var all strings.Builder
	list, err := s.client.ListWorkflow(s.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: `WorkflowType="Delivery"`})
	must(s, err)
	for _, execution := range list.Executions {
		all.WriteString(execution.String())
		events := s.client.GetWorkflowHistory(s.Context(), execution.Execution.WorkflowId, execution.Execution.RunId, false, 0)
		for events.HasNext() {
			event, err := events.Next()
			must(s, err)
			all.WriteString(event.String())
		}
	}
	return all.String()
}

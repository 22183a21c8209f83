package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/task"
)

// TestNextSameKeyAfterAKill kills the API while claims of the next task are under way, with keys: after the choice of a
// task, while no worker carries the claims out. The same requests at the next process get those tasks, one each, while
// more urgent ones are ready.
func TestNextSameKeyAfterAKill(t *testing.T) {
	t.Parallel()
	s := newRig(t, map[string]string{"STAGECOACH_BOT": "false"})
	s.startAPI()
	ann, bob := s.member("Ann"), s.member("Bob")
	space := ann.workspace(map[string]any{}, bob)
	made := ann.batch(
		space, map[string]any{"ref": "first", "title": "The first task"}, map[string]any{
			"ref": "second", "title": "The second task",
		},
	)

	for _, m := range []member{ann, bob} { // without an answer
		body, err := json.Marshal(nextClaim)
		must(t, err)
		request, err := http.NewRequestWithContext(
			t.Context(), http.MethodPost, s.apiURL+"/v1/tasks/claim", bytes.NewReader(body),
		)

		must(t, err)
		request.Header.Set("Authorization", "Bearer "+m.token)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", "the-same")
		go func() {
			if answer, err := http.DefaultClient.Do(request); err == nil {
				answer.Body.Close()
			}
		}()
	}

	chosen := map[string]string{}
	s.eventually(time.Minute, "both have chosen", func() bool {
		chosen = s.choices(ann, bob)
		return len(chosen) == 2
	})
	s.api.kill()
	s.startWorker()
	s.startAPI()
	urgent := ann.batch(
		space, map[string]any{"ref": "urgent", "title": "An urgent task", "priority": task.PriorityCritical},
	)["urgent"]

	for _, m := range []member{ann, bob} {
		for range 2 {
			got := m.call("POST", "/v1/tasks/claim", m.token, nextClaim, "Idempotency-Key", "the-same").want(t, http.StatusOK)
			if one, found := got["task"].(map[string]any); !found || one["id"] != chosen[m.id] || one["assignee_id"] != m.id {
				t.Errorf("user %s has chosen task %s, and got %v", m.id, chosen[m.id], got)
			}
		}
	}

	if chosen[ann.id] == chosen[bob.id] || chosen[ann.id] == urgent || len(made) != 2 {
		t.Errorf("chosen were %v", chosen)
	}

	got := ann.call("POST", "/v1/tasks/claim", ann.token, nextClaim, "Idempotency-Key", "another").want(t, http.StatusOK)
	if one, found := got["task"].(map[string]any); !found || one["id"] != urgent {
		t.Errorf("another key got %v, want task %s", got, urgent)
	}
}

var nextClaim = map[string]any{"comment": "I take it"}

// choices returns the tasks that were chosen for these users under the key, and not claimed.
func (s *rig) choices(users ...member) map[string]string {
	s.Helper()
	conn, err := pgx.Connect(s.Context(), s.env["DATABASE_URL"])
	must(s, err)
	defer conn.Close(s.Context())

	chosen := map[string]string{}
	for _, m := range users {
		var id string
		err := conn.QueryRow(
			s.Context(), `SELECT answer->>'id' FROM answers WHERE user_id = $1 AND key = 'the-same'`, m.id,
		).Scan(&id)
		if err == nil {
			chosen[m.id] = id
		}
	}

	return chosen
}

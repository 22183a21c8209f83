package e2e

import (
	"net/http"
	"regexp"
	"slices"
	"testing"

	"stagecoach/dev/wait"
)

// member is a user who works on tasks, through the API only.
type member struct {
	*rig
	id, token string
}

// member creates a user of the API.
func (s *rig) member(name string) member {
	s.Helper()
	made := s.call("POST", "/v1/users", adminToken, map[string]any{"name": name}).want(s, 201)
	return member{s, made["id"].(string), made["token"].(string)}
}

// workspace creates a workspace with these settings, which the others join. An administrator invites them: an owner may
// invite some 50 people a day, and a race has more.
func (m member) workspace(settings map[string]any, others ...member) string {
	m.Helper()
	settings["name"] = "Shop"
	id := m.call("POST", "/v1/workspaces", m.token, settings).want(m, 201)["id"].(string)
	for _, other := range others {
		m.call("PUT", "/v1/workspaces/"+id+"/members/"+other.id, adminToken, nil).want(m, 204)
		m.call("POST", "/v1/workspaces/"+id+"/agree", other.token, nil).want(m, 204)
	}
	return id
}

// batch creates a graph and returns the ids by ref.
func (m member) batch(workspace string, tasks ...map[string]any) map[string]string {
	m.Helper()
	made := m.asksForBatch(workspace, nonce(), tasks...)
	made.want(m, http.StatusCreated)
	return made.ids()
}

// asksForBatch requests a graph. Repeating the key creates nothing more.
func (m member) asksForBatch(workspace, key string, tasks ...map[string]any) answer {
	m.Helper()
	body := map[string]any{"workspace_id": workspace, "tasks": tasks}
	return m.call("POST", "/v1/tasks/batch", m.token, body, "Idempotency-Key", key)
}

// ids are the ids of a batch by their refs.
func (a answer) ids() map[string]string {
	ids := map[string]string{}
	for _, item := range a.body["items"].([]any) {
		task := item.(map[string]any)
		ids[task["ref"].(string)] = task["id"].(string)
	}
	return ids
}

// does requests an action; to is for the action status.
func (m member) does(action, task, to string, headers ...string) answer {
	m.Helper()
	body := map[string]any{"comment": "because"}
	if to != "" {
		body["to"] = to
	}
	return m.call("POST", "/v1/tasks/"+task+"/"+action, m.token, body, headers...)
}

// refused checks that an action is refused with that status and code.
func (a answer) refused(t testing.TB, status int, code string) map[string]any {
	t.Helper()
	if body := a.want(t, status); body["code"] != code {
		t.Errorf("answered %v, want %s", body, code)
	}
	details, _ := a.body["details"].(map[string]any)
	return details
}

func (m member) task(id string) map[string]any {
	m.Helper()
	return m.call("GET", "/v1/tasks/"+id, m.token, nil).want(m, 200)
}

// TestATaskIsRescued lets a deadline pass, and another agent continue.
func TestATaskIsRescued(t *testing.T) {
	t.Parallel()
	s := newRig(t, map[string]string{"STAGECOACH_BOT": "false"})
	s.startWorker()
	s.startAPI()
	ann, bob := s.member("Ann"), s.member("Bob")
	space := ann.workspace(map[string]any{"status_deadlines": map[string]any{"IN_PROGRESS": 0.03}}, bob)
	id := ann.batch(space, map[string]any{"ref": "a", "title": "Fall asleep"})["a"]
	bob.does("claim", id, "").want(t, 200)
	wait.Eventually(s, "it is STUCK", func() bool { return ann.task(id)["status"] == "STUCK" })
	if task := ann.task(id); task["status_deadline_at"] != nil || task["assignee_id"] != bob.id || !slices.Contains(task["allowed_actions"].([]any), "takeover") {
		t.Errorf("STUCK it is %v", task)
	}

	bob.does("takeover", id, "").refused(t, 409, "CANNOT_TAKEOVER")
	ann.call(
		"PATCH", "/v1/workspaces/"+space, ann.token, map[string]any{"status_deadlines": map[string]any{"IN_PROGRESS": 60}},
	).want(t, 200)
	if over := ann.does("takeover", id, "").want(t, 200); over["assignee_id"] != ann.id || over["status"] != "IN_PROGRESS" {
		t.Errorf("taken over %v", over)
	}

	bob.does("status", id, "DONE").refused(t, 403, "INSUFFICIENT_ACCESS")
	ann.does("status", id, "DONE").want(t, 200)
	ann.does("comments", id, "").want(t, 201)
	var comment string
	var types []string

	for _, item := range ann.call("GET", "/v1/tasks/"+id+"/events", ann.token, nil).want(t, 200)["items"].([]any) {
		event := item.(map[string]any)
		types = append(types, event["type"].(string))
		if event["type"] == "deadline_expired" {
			comment = event["comment"].(string)
		}
	}

	if want := []string{"created", "claimed", "deadline_expired", "taken_over", "status_changed", "commented"}; !slices.Equal(types, want) {
		t.Errorf("events %v, want %v", types, want)
	}
	if !regexp.MustCompile(`^Status deadline expired\. Was in IN_PROGRESS for \d+ minutes\.$`).MatchString(comment) {
		t.Errorf("the deadline says %q", comment)
	}

	stats := ann.call("GET", "/v1/stats/tasks?workspace_id="+space, ann.token, nil).want(t, 200)
	if stats["expiries"] != 1.0 || stats["takeovers"] != 1.0 || stats["done"] != 1.0 {
		t.Errorf("figures %v", stats)
	}
}

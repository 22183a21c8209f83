package command

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	taskJSON       = `{"id":"12","workspace_id":"2","title":"Write it","description":"all","visibility":"public","priority":"high","labels":["a","b"],"status":"STATUS","status_deadline_at":"2026-03-01T14:00:00Z","creator_id":"3","assignee_id":null,"blocked_by":["11","10"],"blockers":[{"id":"10","status":"DONE"},{"id":"11","status":"STUCK"}],"ready":false,"allowed_actions":["status"],"allowed_statuses":["CANCELLED"],"workflow_id":"task/12","created_at":"2026-03-01T12:00:00Z","updated_at":"2026-03-01T12:00:00Z"}`
	taskEventJSON  = `{"seq":2,"type":"deadline_expired","actor_id":null,"from":"NEW","to":"STUCK","comment":"too late","created_at":"2026-03-01T12:00:00Z"}`
	spaceJSON      = `{"id":"2","name":"Shop","owner_id":"3","status_deadlines":{"NEW":120,"IN_PROGRESS":0,"BLOCKED":0.5},"stuck_release_after":0,"new_deadline_waits_for_blockers":false,"created_at":"2026-03-01T12:00:00Z"}`
	memberJSON     = `{"user_id":"7","name":"Ada","joined_at":"2026-03-01T12:00:00Z"}`
	invitationJSON = `{"id":"4","workspace_id":"2","workspace_name":"Shop","invited_by":"3","invited_by_name":"Ada","invited_at":"2026-03-01T12:00:00Z"}`
	optionsJSON    = `{"task_id":"12","status":"NEW","items":[{"action":"claim","to":"IN_PROGRESS","allowed":false,"changes_nothing":false,"code":"UNRESOLVED_BLOCKERS","reason":"claim needs: every blocker is DONE","only_for":[],"details":{"blockers":["11"]}},{"action":"status","to":"CANCELLED","allowed":true,"changes_nothing":false,"code":null,"reason":"","only_for":[],"details":{}}]}`
	statsJSON      = `{"created":9,"done":4,"cancelled":1,"lead_time_seconds":90.5,"lead_time_median_seconds":60,"cycle_time_seconds":null,"cycle_time_median_seconds":null,"takeovers":2,"escalations":3,"expiries":5}`
)

func taskIn(status string) string { return strings.ReplaceAll(taskJSON, "STATUS", status) }

func TestTaskCommands(t *testing.T) {
	t.Parallel()
	batch := filepath.Join(t.TempDir(), "batch.json")
	writeFile(t, batch, []byte(`[{"ref":"a","title":"Write it"}]`))
	answers := map[string][]string{
		"POST /v1/tasks":                                     {"201 " + taskIn("NEW")},
		"POST /v1/tasks/batch":                               {`201 {"items":[{"ref":"a",` + taskIn("NEW")[1:] + `]}`},
		"GET /v1/tasks?limit=50":                             {"200 " + list(taskIn("NEW"))},
		"GET /v1/tasks?assignee=me&limit=50&status=DONE":     {"200 " + list(taskIn("DONE"))},
		"GET /v1/tasks?limit=1&ready=true&workspace_id=2":    {`200 {"items":[` + taskIn("NEW") + `],"next_cursor":"c2"}`},
		"GET /v1/tasks/12":                                   {"200 " + taskIn("NEW")},
		"GET /v1/tasks/12/actions":                           {"200 " + optionsJSON},
		"GET /v1/tasks/12/events?limit=50":                   {"200 " + list(taskEventJSON)},
		"POST /v1/tasks/12/claim":                            {"200 " + taskIn("IN_PROGRESS")},
		"POST /v1/tasks/12/heartbeat":                        {"200 " + taskIn("IN_PROGRESS")},
		"POST /v1/tasks/12/escalate":                         {"200 " + taskIn("BLOCKED")},
		"POST /v1/tasks/12/takeover":                         {"200 " + taskIn("IN_PROGRESS")},
		"POST /v1/tasks/12/status":                           {"200 " + taskIn("DONE")},
		"POST /v1/tasks/12/comments":                         {"201 " + taskEventJSON},
		"POST /v1/workspaces":                                {"201 " + spaceJSON},
		"GET /v1/workspaces?limit=50":                        {"200 " + list(spaceJSON)},
		"PUT /v1/workspaces/2/members/7":                     {"204 "},
		"DELETE /v1/workspaces/2/members/7":                  {"204 "},
		"POST /v1/workspaces/2/agree":                        {"204 "},
		"POST /v1/workspaces/2/refuse":                       {"204 "},
		"GET /v1/invitations?limit=50":                       {"200 " + list(invitationJSON)},
		"GET /v1/workspaces/2/members?limit=200":             {"200 " + list(strings.Replace(memberJSON, `"7"`, `"3"`, 1))},
		"GET /v1/workspaces/2/members?limit=50":              {"200 " + list(memberJSON)},
		"PATCH /v1/workspaces/2":                             {"200 " + spaceJSON},
		"GET /v1/stats/tasks?period=week&workspace_id=2":     {"200 " + statsJSON},
		"GET /v1/tasks?limit=200&workspace_id=2":             {`200 {"items":[` + taskIn("NEW") + `],"next_cursor":"more"}`},
		"GET /v1/tasks?cursor=more&limit=200&workspace_id=2": {"200 " + list()},
	}

	runCommands(t, answers, []commandTest{
		{line: "task create Title --workspace 2", want: []string{"Write it", "11, STUCK", "you may", "status (to CANCELLED)"}, json: taskIn("NEW"), body: `{"workspace_id":"2","title":"Title"}`},
		{
			line: "task create Title --workspace 2 --description d --visibility private --priority low --label a --label b,c --assignee 7 --blocked-by 1",
			body: `{"workspace_id":"2","title":"Title","description":"d","visibility":"private","priority":"low","labels":["a","b,c"],"assignee_id":"7","blocked_by":["1"]}`,
		},
		{line: "task batch " + batch + " --workspace 2", want: []string{"REF", "a", "12"}, body: `{"tasks":[{"ref":"a","title":"Write it"}],"workspace_id":"2"}`},
		{line: "task claim --lease 5m 12 I know this", body: `{"comment":"I know this","lease_seconds":300}`},
		{line: "task takeover --lease 1h 12 nobody is here", body: `{"comment":"nobody is here","lease_seconds":3600}`},
		{line: "task heartbeat 12", body: `{}`},
		{line: "task heartbeat 12 --fencing-token 1772366400000", body: `{"fencing_token":1772366400000}`},
		{line: "task list", want: []string{"12", "NEW", "high", "Write it", "11"}, json: list(taskIn("NEW"))},
		{line: "task list --in-status done --assignee me", want: []string{"DONE"}},
		{line: "task ready --workspace 2 --limit 1", want: []string{"Write it", "--cursor c2"}},
		{line: "task show 12", want: []string{"task/12", "a, b", "10, DONE", "Ada (3)"}, json: taskIn("NEW")},
		{line: "task actions 12", want: []string{"MAY YOU", "UNRESOLVED_BLOCKERS", "every blocker is DONE", "CANCELLED", "yes"}, json: optionsJSON},
		{line: "task events 12", want: []string{"deadline_expired", "system", "too late"}, json: list(taskEventJSON)},
		{line: "task claim 12 it is mine", want: []string{"IN_PROGRESS"}, json: taskIn("IN_PROGRESS"), body: `{"comment":"it is mine"}`},
		{line: "task escalate 12 stop", body: `{"comment":"stop"}`, want: []string{"BLOCKED"}},
		{line: "task takeover 12 let me", body: `{"comment":"let me"}`, want: []string{"IN_PROGRESS"}},
		{line: "task done 12 there", body: `{"comment":"there","to":"DONE"}`, want: []string{"DONE"}},
		{line: "task release 12 not me", body: `{"comment":"not me","to":"NEW"}`},
		{line: "task block 12 no key", body: `{"comment":"no key","to":"BLOCKED"}`},
		{line: "task status 12 cancelled no need", body: `{"comment":"no need","to":"CANCELLED"}`},
		{line: "task claim 12", body: `{"comment":""}`},
		{line: "task comment 12 well done", want: []string{"too late"}, json: taskEventJSON, body: `{"comment":"well done"}`},
		{line: "task dep 12", want: []string{"12  NEW  Write it\nwaits for\n├─ 10  DONE", "└─ 11  STUCK", "nothing waits for it"}},
		{line: "workspace create Shop", want: []string{"Shop", "2 h 00 min", "never", "30.0 s"}, json: spaceJSON, body: `{"name":"Shop"}`},
		{
			line: "workspace create Shop --deadline new=5,BLOCKED=0 --release-stuck-after 1.5 --new-waits-for-blockers",
			body: `{"name":"Shop","new_deadline_waits_for_blockers":true,"status_deadlines":{"BLOCKED":0,"NEW":5},"stuck_release_after":1.5}`,
		},
		{line: "workspace list", want: []string{"Shop"}, json: list(spaceJSON)},
		{line: "workspace member 2 7", want: []string{"workspace 2: ", "agent 7 is a member now; person 7 is invited, and joins once they accept"}},
		{line: "workspace remove 2 7", want: []string{"user 7 is not in workspace 2"}},
		{line: "workspace agree 2", want: []string{"workspace 2: you are a member"}},
		{line: "workspace refuse 2", want: []string{"workspace 2: you have refused"}},
		{line: "workspace invitations", want: []string{"2", "Shop", "3", "Ada", "1 Mar 2026"}, json: list(invitationJSON)},
		{line: "workspace members 2", want: []string{"7", "Ada", "1 Mar 2026"}, json: list(memberJSON)},
		{
			line: "workspace change 2 --name Store --deadline NEW=0 --release-stuck-after 0 --new-waits-for-blockers=false",
			want: []string{"Shop"}, json: spaceJSON,
			body: `{"name":"Store","new_deadline_waits_for_blockers":false,"status_deadlines":{"NEW":0},"stuck_release_after":0}`,
		},
		{line: "stats tasks 2 --period week", want: []string{"1 min 30 s on average", "no task was done", "deadlines passed"}, json: statsJSON},
	})
}

// TestTaskListNamesPeople shows the assignees' names as far as the caller may know them; the JSON output needs no
// further call.
func TestTaskListNamesPeople(t *testing.T) {
	t.Parallel()
	one := func(id, workspace, assignee string) string {
		return `{"id":"` + id + `","workspace_id":"` + workspace + `","assignee_id":` + assignee + `,"title":"Write it"}`
	}
	tasks := list(one("12", "2", `"7"`), one("13", "2", `"8"`), one("14", "2", `"9"`), one("15", "3", `"7"`), one("16", "4", "null"))
	api := newFakeAPI(t, map[string][]string{
		"GET /v1/tasks?limit=50": {"200 " + tasks},
		"GET /v1/workspaces/2/members?limit=200": {
			"200 " + list(memberJSON, `{"user_id":"8","name":"night shift","owner_name":"Ada"}`),
		},
		"GET /v1/workspaces/3/members?limit=200": {`404 {"code":"WORKSPACE_NOT_FOUND"}`},
	})

	code, out, errs := api.starter(t, "task", "list")
	if code != 0 {
		t.Fatal(errs)
	}
	for _, want := range []string{"12 +Ada +Write", `13 +night shift \(Ada\) +Write`, "14 +user 9 +Write", "15 +user 7 +Write", "16 +Write"} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if len(api.asked) != 3 {
		t.Errorf("asked %+v", api.asked)
	}

	if code, out, errs = api.starter(t, "task", "list", "--json"); code != 0 || strings.TrimSpace(out) != tasks || len(api.asked) != 4 {
		t.Errorf("%s%s, asked %+v", out, errs, api.asked)
	}
}

func TestTaskKeys(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t, map[string][]string{"POST /v1/tasks/12/claim": {"200 " + taskIn("IN_PROGRESS")}})
	for _, args := range [][]string{{"task", "claim", "12", "x"}, {"task", "claim", "--idempotency-key", "k1", "12", "x"}} {
		if code, _, errs := api.starter(t, args...); code != 0 {
			t.Fatal(errs)
		}
	}
	if api.asked[0].key != "" || api.asked[1].key != "k1" {
		t.Errorf("asked %+v", api.asked)
	}
}

func TestTaskDependencies(t *testing.T) {
	t.Parallel()
	one := func(id, status string, blockers ...string) string {
		var items []string
		for _, b := range blockers {
			items = append(items, `{"id":"`+b+`","status":"DONE"}`)
		}
		return `{"id":"` + id + `","workspace_id":"2","title":"Task ` + id + `","status":"` + status + `","blockers":[` + strings.Join(items, ",") + `]}`
	}

	// 8 blocks 9 and 10, both block 11, which blocks 12; 7 is hidden from the caller.
	api := newFakeAPI(t, map[string][]string{
		"GET /v1/tasks/11": {"200 " + one("11", "NEW", "9", "10")},
		"GET /v1/tasks?limit=200&workspace_id=2": {"200 " + list(one("12", "NEW", "11"), one("11", "NEW", "9", "10"), one("10", "DONE", "8"),
			one("9", "DONE", "8"), one("8", "DONE", "7"))},
	})

	code, out, errs := api.starter(t, "task", "dep", "11")
	want := `11  NEW  Task 11
waits for
├─ 9  DONE  Task 9
│  └─ 8  DONE  Task 8
│     └─ 7  DONE  ` + `
└─ 10  DONE  Task 10
   └─ 8  DONE  Task 8 (see above)
is waited for by
└─ 12  NEW  Task 12
`
	if code != 0 || out != want {
		t.Errorf("exit code %d, errors %q, output\n%s", code, errs, out)
	}

	_, out, _ = api.starter(t, "task", "dep", "11", "--json")
	var d struct {
		ID                   string
		Blockers, Dependents []any
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil || d.ID != "11" || len(d.Blockers) != 2 || len(d.Dependents) != 1 {
		t.Errorf("%v, %s", err, out)
	}
}

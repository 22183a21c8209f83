package command

import "testing"

// TestLists takes free text as it is, and splits ids and names at commas and spaces.
func TestLists(t *testing.T) {
	t.Parallel()
	create, create2 := []string{"task", "create", "Title", "--workspace", "2"}, `{"workspace_id":"2","title":"Title",`
	edit, next := []string{"task", "edit", "12"}, []string{"task", "next"}
	token, webhook := []string{"token", "create", "import"}, []string{"webhook", "add", "https://a.example"}
	space := []string{"workspace", "change", "2"}
	for _, test := range []struct {
		call  string
		line  []string
		flags []string
		body  string
	}{
		{"POST /v1/tasks", create, []string{"--label", `say "hi"`}, create2 + `"labels":["say \"hi\""]}`},
		{"POST /v1/tasks", create, []string{"--label", "red, or blue"}, create2 + `"labels":["red, or blue"]}`},
		{"POST /v1/tasks", create, []string{"--label", `"`, "--label", `a"b,"c`}, create2 + `"labels":["\"","a\"b,\"c"]}`},
		{"POST /v1/tasks", create, []string{"--label=two words", "--label", "-x"}, create2 + `"labels":["two words","-x"]}`},
		{"POST /v1/tasks", create, []string{"--label", "a\nb"}, create2 + `"labels":["a\nb"]}`}, // the API refuses it; a line is not lost
		{"POST /v1/tasks", create, []string{"--blocked-by", "1,2", "--blocked-by", "3"}, create2 + `"blocked_by":["1","2","3"]}`},
		{"POST /v1/tasks", create, []string{"--blocked-by", "1, 2,"}, create2 + `"blocked_by":["1","2"]}`},
		{"POST /v1/tasks", create, []string{"--blocked-by", "1\n2\n"}, create2 + `"blocked_by":["1","2"]}`}, // of a list of lines
		{"POST /v1/tasks", create, []string{"--blocked-by", `"1"`}, create2 + `"blocked_by":["\"1\""]}`},
		{"PATCH /v1/tasks/12", edit, []string{"--label", `say "hi"`, "--label", "a,b"}, `{"labels":["say \"hi\"","a,b"]}`},
		{"PATCH /v1/tasks/12", edit, []string{"--label", ""}, `{"labels":[]}`},
		{"POST /v1/tasks/claim", next, []string{"--label", `say "hi"`}, `{"comment":"","labels":["say \"hi\""]}`},
		{"POST /v1/tasks/claim", next, []string{"--label", "a, b", "--label", "c"}, `{"comment":"","labels":["a, b","c"]}`},
		{"POST /v1/tokens", token, []string{"--scope", "read, files", "--scope", "tasks"}, `{"name":"import","scopes":["read","files","tasks"]}`},
		{"POST /v1/tokens", token, []string{"--scope", "read files"}, `{"name":"import","scopes":["read","files"]}`},
		{"POST /v1/webhooks", webhook, []string{"--workload", "task,\ndelivery"}, `{"address":"https://a.example","workloads":["task","delivery"]}`},
		{"POST /v1/webhooks", webhook, nil, `{"address":"https://a.example","workloads":[]}`},
		{"PATCH /v1/workspaces/2", space, []string{"--deadline", "new=5, blocked=0"}, `{"status_deadlines":{"BLOCKED":0,"NEW":5}}`},
	} {
		api := newFakeAPI(t, map[string][]string{test.call: {"200 {}"}})
		code, _, errs := api.starter(t, withFlags(test.line, test.flags...)...)
		if code != 0 || len(api.asked) != 1 || api.asked[0].body != test.body {
			t.Errorf("%v %q: exit code %d, asked %+v, errors %q", test.line, test.flags, code, api.asked, errs)
		}
	}
}

package command

import "testing"

func TestTaskNext(t *testing.T) {
	t.Parallel()
	got := `{"task":` + taskIn("IN_PROGRESS") + `}`
	runCommands(t, map[string][]string{"POST /v1/tasks/claim": {"200 " + got}}, []commandTest{
		{line: "task next my turn", want: []string{"IN_PROGRESS", "Write it"}, json: got, body: `{"comment":"my turn"}`},
		{
			line: "task next --workspace 2 --label a --label b,c --priority high --wait 50s --lease 5m mine",
			body: `{"comment":"mine","labels":["a","b,c"],"lease_seconds":300,"priority":"high","wait_seconds":50,"workspace_id":"2"}`,
		},
	})
	runCommands(t, map[string][]string{"POST /v1/tasks/claim": {`200 {"task":null}`}}, []commandTest{
		{line: "task next mine", want: []string{"no task is ready"}, json: `{"task":null}`},
	})
}

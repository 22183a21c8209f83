package command

import (
	"slices"
	"strings"
	"testing"
)

// TestHints names flags and the service in explanations of refusals.
func TestHints(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	for line, want := range map[string]string{
		"task show 7 --state " + state:                  "next: list them: starter task list --state " + state + "\n",
		"task show 7":                                   "next: list them: starter task list\n",
		"task create x --workspace 1 --priority urgent": "VALIDATION_ERROR: the input is wrong\nfield: --priority: is not one of them\n",
	} {
		api := newFakeAPI(t, map[string][]string{
			"GET /v1/tasks/7": {problemJSON(404, "TASK_NOT_FOUND")},
			"POST /v1/tasks":  {`422 {"status":422,"code":"VALIDATION_ERROR","detail":"the input is wrong: see errors","errors":[{"field":"body.priority","message":"is not one of them"}]}`},
		})
		words := strings.Fields(line)
		if words[1] == "create" { // flags go before a text
			words = append([]string{"task", "create"}, append(words[3:], "x")...)
		}
		if code, out, errs := api.starter(t, words...); code != 1 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, output %q, errors %q", line, code, out, errs)
		}
	}
	if _, _, errs := starter(t, "task", "list", "--state", state); !strings.Contains(errs, "go run ./dev --state "+state) {
		t.Errorf("errors %q", errs)
	}
	for word, want := range map[string]string{"delivery": "deliver", "transaction": "tx", "downloads": "download"} {
		if code, _, errs := starter(t, word); code != 2 || !strings.Contains(errs, "did you mean "+want+"?") {
			t.Errorf("%s: exit code %d, errors %q", word, code, errs)
		}
	}
}

// TestValuesComplete completes the values of flags, and ids.
func TestValuesComplete(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t, map[string][]string{
		"GET /v1/tasks?limit=200":        {"200 " + list(taskIn("NEW"))},
		"GET /v1/invitations?limit=200":  {"200 " + list(`{"workspace_id":"7","workspace_name":"Books"}`)},
		"GET /v1/transactions?limit=200": {"200 " + list(`{"hash":"9f2c6d1e","username":"durov"}`)},
	})
	flags := "--api " + api.URL + " --token secret "
	for line, want := range map[string][]string{
		"task list --in-status ":            {"NEW", "IN_PROGRESS", "STUCK"},
		"deliver list --in-state ":          {"QUEUED", "DELIVERED"},
		"download list --in-status ":        {"queued", "failed"},
		"tx list --in-status ":              {"pending", "processed"},
		"book list --in-state ":             {"Library", "Archive"},
		"user list --status ":               {"PENDING"},
		"task show " + flags:                {"12\tWrite it"},
		"tx show " + flags + "9F":           {"9f2c6d1e\tdurov"},
		"task show " + flags + "9":          {},
		"workspace members " + flags:        {}, // nothing answers
		"workspace agree " + flags:          {"7\tBooks"},
		"task batch " + flags:               {":0"}, // the shell completes files
		"task submit " + flags + "12 ":      {":0"},
		"task list --workspace 1 --search ": {},
	} {
		code, out, _ := starter(t, append([]string{"__complete"}, strings.Split(line, " ")...)...)
		given := strings.Split(out, "\n")
		for _, one := range want {
			if !slices.Contains(given, one) {
				t.Errorf("%s: %q is not completed: exit code %d, %q", line, one, code, out)
			}
		}
		if len(want) == 0 && !strings.HasPrefix(out, ":") {
			t.Errorf("%s: completed: %q", line, out)
		}
	}
}

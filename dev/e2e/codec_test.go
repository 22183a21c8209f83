package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stagecoach/dev/night"
	"stagecoach/dev/wait"
	"stagecoach/internal/codec"
)

// payloadKey is an entry of STAGECOACH_PAYLOAD_KEYS.
func payloadKey(id string) string {
	return id + ":" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(id[:1], codec.KeySize)))
}

// payloads reads a workflow's history with the temporal CLI. It returns the keys with which its payloads are encrypted,
// "" for plain ones, and the bytes of all payloads, without search attributes.
func (s *rig) payloads(workflowID string, options ...string) (keys map[string]int, content string) {
	s.Helper()
	var history any
	printed := s.temporalCLI(append(
		[]string{"workflow", "show", "--workflow-id", workflowID, "--output", "json", "--no-json-shorthand-payloads"},
		options...,
	)...)

	must(s, json.Unmarshal([]byte(printed), &history))
	keys = map[string]int{}
	text := func(value any) string {
		encoded, _ := value.(string)
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		must(s, err)
		return string(decoded)
	}

	var walk func(any)
	walk = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, item := range value {
				walk(item)
			}
		case map[string]any:
			if metadata, ok := value["metadata"].(map[string]any); ok && metadata["encoding"] != nil {
				keys[text(metadata[codec.MetadataKeyID])]++
				content += text(value["data"]) + "\n"
				return
			}
			for name, item := range value {
				if name != "searchAttributes" {
					walk(item)
				}
			}
		}
	}

	walk(history)
	return keys, content
}

// TestLongEncryptedPayloads runs a task through the introduction of a key, its rotation, and a worker without the new
// key. The temporal CLI decodes all payloads through the API, for administrators only.
func TestLongEncryptedPayloads(t *testing.T) {
	night.Only(t)
	t.Parallel()
	s := newRig(t, map[string]string{"STAGECOACH_BOT": "false"})
	worker := s.startWorker()
	s.startAPI()
	restart := func(keys string) {
		t.Helper()
		worker.stop()
		s.api.stop()
		s.env["STAGECOACH_PAYLOAD_KEYS"] = keys
		runs := s.runningWorkers()
		worker = s.startWorker()
		wait.Eventually(s, "the new worker runs", func() bool { return s.runningWorkers() > runs })
		s.startAPI()
	}

	ann := s.member("Ann")
	space := ann.workspace(map[string]any{})
	task := ann.batch(space, map[string]any{"ref": "one", "title": "planted title"})["one"]
	id := "task/" + task
	if keys, _ := s.payloads(id); len(keys) != 1 || keys[""] == 0 {
		t.Fatalf("without keys: %v", keys)
	}

	restart(payloadKey("k1"))
	says := func(action, to, comment string) {
		t.Helper()
		body := map[string]any{"comment": comment}
		if to != "" {
			body["to"] = to
		}
		ann.call("POST", "/v1/tasks/"+task+"/"+action, ann.token, body).want(t, http.StatusOK)
	}

	says("claim", "", "planted one")
	fresh := ann.batch(space, map[string]any{"ref": "two", "title": "planted title"})["two"]
	wait.Eventually(
		s, "the new task's workflow has begun",
		func() bool { return len(s.listed(`WorkflowId="task/`+fresh+`"`)) == 1 },
	)
	if keys, _ := s.payloads("task/" + fresh); keys[""] != 0 || keys["k1"] == 0 {
		t.Errorf("a task of after the introduction: %v", keys)
	}

	// An incomplete rotation: processes encrypt with k2 while one of two workers does not have it. No failure is
	// permanent.
	old := worker
	s.api.stop()
	s.env["STAGECOACH_PAYLOAD_KEYS"] = payloadKey("k2") + "," + payloadKey("k1")
	worker = s.startWorker()
	s.startAPI()
	lacks := func() bool {
		return strings.Contains(s.log.String(), "configure it on every worker before the first process encrypts with it")
	}

	several := []string{fresh}
	for round := 0; !lacks() && round < 10; round++ {
		for _, id := range ann.batch(space, map[string]any{"ref": "a", "title": "planted title"}, map[string]any{"ref": "b", "title": "planted title"}) {
			several = append(several, id)
		}
		for i, id := range several {
			wait.Eventually(s, "the claim is carried out by the worker that has the key", func() bool {
				return ann.does("claim", id, "", "Idempotency-Key", fmt.Sprint("claim", i)).status == http.StatusOK
			})
		}
	}

	if !lacks() {
		t.Error("the worker does not say what it lacks")
	}

	old.stop()
	says("status", "BLOCKED", "planted two")
	says("status", "IN_PROGRESS", "planted two")
	says("status", "DONE", "planted three")
	for _, id := range several {
		ann.does("status", id, "DONE").want(t, http.StatusOK)
	}

	for _, id := range []string{id, "task/" + fresh} {
		wait.Eventually(s, id+" is over", func() bool {
			return len(s.listed(`WorkflowId="`+id+`" AND ExecutionStatus="Completed"`)) == 1
		})
	}

	if keys, _ := s.payloads(id); keys[""] == 0 || keys["k1"] == 0 || keys["k2"] == 0 {
		t.Errorf("a task that saw it all: %v", keys)
	}

	reader := []string{"--codec-endpoint", s.apiURL + "/codec", "--codec-auth", "Bearer " + adminToken}
	_, raw := s.payloads("task/" + fresh)
	keys, decoded := s.payloads("task/"+fresh, reader...)
	if strings.Contains(raw, `"because"`) || strings.Contains(raw, `"state"`) {
		t.Errorf("readable without the codec: %s", raw)
	}
	if !strings.Contains(decoded, `"because"`) || !strings.Contains(decoded, `"state"`) || keys["k1"]+keys["k2"] != 0 {
		t.Errorf("not readable with the codec: %v %s", keys, decoded)
	}

	described := []string{"workflow", "describe", "--workflow-id", "task/" + fresh}
	if raw, decoded := s.temporalCLI(described...), s.temporalCLI(append(described, reader...)...); strings.Contains(raw, "Task "+fresh) || !strings.Contains(decoded, "Task "+fresh) || !strings.Contains(raw, "Stage") {
		t.Errorf("described: %s\nand decoded: %s", raw, decoded)
	}

	query := append([]string{"workflow", "query", "--type", "state", "--workflow-id", "task/" + fresh}, reader...)
	if got := s.temporalCLI(query...); !strings.Contains(got, "DONE") {
		t.Errorf("the query says %s", got)
	}

	details := append([]string{"workflow", "metadata", "--workflow-id", "task/" + fresh}, reader...)
	if got := s.temporalCLI(details...); !strings.Contains(got, "DONE") {
		t.Errorf("the current details are %s", got)
	}
	if answer := s.call("POST", "/codec/decode", ann.token, map[string]any{"payloads": []any{}}); answer.status != http.StatusForbidden {
		t.Errorf("a user who is no administrator got %d", answer.status)
	}

	// With encryption off, encrypted payloads are still decoded.
	s.env["STAGECOACH_PAYLOAD_ENCRYPT"] = "false"
	last := ann.batch(space, map[string]any{"ref": "three", "title": "planted title"})["three"]
	restart(s.env["STAGECOACH_PAYLOAD_KEYS"])
	ann.does("claim", last, "").want(t, http.StatusOK)
	ann.does("status", last, "DONE").want(t, http.StatusOK)
	if keys, _ := s.payloads("task/" + last); keys["k2"] == 0 || keys[""] == 0 {
		t.Errorf("switched off in mid-life: %v", keys)
	}
	if strings.Contains(s.log.String(), "planted") {
		t.Error("the logs tell a comment or a title")
	}
}

package tasks

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/internal/lifecycle"
)

const (
	resultsShown = "3"
	resultLength = 4000 // runes per result
)

// result is a submitted result as the page shows it.
type result struct {
	shape.Submission
	By      *string
	Text    string
	Cut     bool
	Current bool // the one that may be judged
}

// results reads the newest results of a task. Without a current one there are none to show.
func results(r *site.Request, task shape.Task) ([]result, error) {
	if task.Submission == nil {
		return nil, nil
	}

	found, err := site.Get[shape.Page[shape.Submission]](r, "/v1/tasks/{id}/submissions?limit="+resultsShown)
	return shape.List(found.Items, func(s shape.Submission) result {
		shown := result{Submission: s, By: &s.AuthorID, Text: readable(s.Result), Current: s.Seq == *task.Submission}
		if runes := []rune(shown.Text); len(runes) > resultLength {
			shown.Text, shown.Cut = string(runes[:resultLength]), true
		}
		return shown
	}), err
}

// readable returns a text as it is, and other JSON indented.
func readable(text json.RawMessage) string {
	var plain string
	if json.Unmarshal(text, &plain) == nil {
		return plain
	}

	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

// review submits a result, or judges the one that the page showed.
func review(r *site.Request, step string) error {
	body := map[string]any{"comment": r.PostFormValue("comment")}
	if step == string(lifecycle.TaskActionSubmit) {
		body["result"] = resultOf(r.PostFormValue("result"))
	} else {
		body["submission"], _ = strconv.ParseInt(r.PostFormValue("submission"), 10, 64)
	}

	_, err := site.Post[shape.Task](r, "/v1/tasks/{id}/"+step, body)
	return err
}

// resultOf takes valid JSON as it is, and anything else as a text.
func resultOf(written string) any {
	if json.Valid([]byte(written)) {
		return json.RawMessage(written)
	}
	return written
}

// edit changes only the fields that the person changed, so that a form that was open for long overwrites nothing else.
func edit(r *site.Request) error {
	body := map[string]any{}
	for _, field := range []string{"title", "description", "priority", "labels"} {
		value := strings.ReplaceAll(r.PostFormValue(field), "\r\n", "\n")
		if value == strings.ReplaceAll(r.PostFormValue("was-"+field), "\r\n", "\n") {
			continue
		}

		body[field] = value
		if field == "labels" {
			body[field] = append([]string{}, listed(value, ",")...)
		}
	}

	if len(body) == 0 {
		return nil
	}
	body["comment"] = r.PostFormValue("comment")
	_, err := site.Send[shape.Task](r, "PATCH /v1/tasks/{id}", body)
	return err
}

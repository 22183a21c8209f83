package tasks

import (
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
)

func showBatch(r *site.Request) (site.View, error) {
	view, err := formFor(r)
	nameTasks(r)
	return site.View{Data: view}, err
}

// createBatch creates a graph of tasks from pasted JSON, and shows it. The API validates the tasks.
func createBatch(r *site.Request) (next string, err error) {
	var pasted []json.RawMessage
	text := r.PostFormValue("tasks")
	unread := json.Unmarshal([]byte(text), &pasted)

	workspace := r.PostFormValue("workspace_id")
	_, err = site.Post[shape.TaskBatch](r, "/v1/tasks/batch", map[string]any{"workspace_id": workspace, "tasks": pasted})
	if unread != nil && isCode(err, fault.Validation) { // users who may not create tasks have been refused before this
		return "", fault.New(fault.Validation, "%s", whyNoList(r.Language, text, unread))
	}
	return pathOfWorkspace(workspace) + "/graph", err
}

// whyNoList explains why a text is not a JSON list.
func whyNoList(language, text string, err error) string {
	syntax, broken := errors.AsType[*json.SyntaxError](err)
	if !broken {
		return texts["batch-no-list"].In(language)
	}
	before := text[:min(int(syntax.Offset), len(text))]
	return texts["batch-no-json"].In(language, strings.Count(before, "\n")+1)
}

// fieldOfTask matches an invalid field of a batch, as the API names it.
var fieldOfTask = regexp.MustCompile(`^tasks\[(\d+)\]\.?(.*)$`)

// nameTasks adds to each invalid field which of the pasted tasks it belongs to.
func nameTasks(r *site.Request) {
	if r.Problem == nil {
		return
	}

	var pasted []struct {
		Ref   string
		Title any
	}

	_ = json.Unmarshal([]byte(r.PostFormValue("tasks")), &pasted) // an unreadable task is only numbered

	named := map[string]string{}
	for field, message := range r.Problem.Fields {
		parts := fieldOfTask.FindStringSubmatch(field)
		if parts == nil {
			named[field] = message
			continue
		}

		place, _ := strconv.Atoi(parts[1])
		name := ""
		if place < len(pasted) {
			title, _ := pasted[place].Title.(string)
			name = cmp.Or(pasted[place].Ref, title)
		}

		named[strings.TrimRight(texts["batch-field"].In(r.Language, place+1, name, words.FieldName(r.Language, parts[2])), ": ")] = message
	}

	r.Problem.Fields = named
}

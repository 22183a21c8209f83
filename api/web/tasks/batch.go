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
	"stagecoach/internal/fault"
)

func showBatch(r *site.Request) (site.View, error) {
	view, err := formFor(r)
	nameTasks(r)
	return site.View{Data: view}, err
}

// createBatch makes a graph of tasks from pasted JSON, and shows it. The API checks what the tasks contain.
func createBatch(r *site.Request) (next string, err error) {
	var pasted []json.RawMessage
	text := r.PostFormValue("tasks")
	unread := json.Unmarshal([]byte(text), &pasted)

	workspace := r.PostFormValue("workspace_id")
	_, err = site.Post[shape.TaskBatch](r, "/v1/tasks/batch", map[string]any{"workspace_id": workspace, "tasks": pasted})
	if unread != nil && isCode(err, fault.Validation) { // who may not create tasks has heard of that before
		return "", fault.New(fault.Validation, "%s", whyNoList(r.Language, text, unread))
	}
	return pathOfWorkspace(workspace) + "/graph", err
}

// whyNoList says why a text is not a JSON list.
func whyNoList(language, text string, err error) string {
	syntax, broken := errors.AsType[*json.SyntaxError](err)
	if !broken {
		return texts["batch-no-list"].In(language)
	}
	before := text[:min(int(syntax.Offset), len(text))]
	return texts["batch-no-json"].In(language, strings.Count(before, "\n")+1)
}

// fieldOfTask is a field at fault of a batch, as the API names it.
var fieldOfTask = regexp.MustCompile(`^tasks\[(\d+)\]\.?(.*)$`)

// nameTasks says at each field at fault which of the pasted tasks it is of.
func nameTasks(r *site.Request) {
	if r.Problem == nil {
		return
	}

	var pasted []struct {
		Ref   string
		Title any
	}

	_ = json.Unmarshal([]byte(r.PostFormValue("tasks")), &pasted) // what cannot be read has a number alone

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

		named[strings.TrimRight(texts["batch-field"].In(r.Language, place+1, name, parts[2]), ": ")] = message
	}

	r.Problem.Fields = named
}

package tasks

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// Limits of a task.
const (
	MinTitle       = 1 // characters
	MaxTitle       = 200
	MaxDescription = 20000
	MaxLabels      = 20
	MaxLabel       = 50
	MaxBlockers    = 100
	MaxBatch       = 500
	MaxEdges       = 5000     // blockers of all tasks in a batch
	MaxResult      = 64 << 10 // bytes
	maxResultDepth = 100      // nesting of lists and objects
)

const (
	parallelStarts = 8               // workflows of a batch that start concurrently
	startPatience  = 5 * time.Second // for one start, before it is left to the reconciler
)

// Create creates one task. Its blockers must exist.
func (c *Service) Create(
	ctx context.Context, user account.User, workspaceID int64, row task.NewTask, key string,
) (task.Task, error) {
	row.Ref = "" // a single task needs no name within a batch
	made, err := c.CreateBatch(ctx, user, workspaceID, []task.NewTask{row}, key)
	if refusal := fault.As(err); refusal != nil && refusal.Field != "" { // the request has no list of tasks
		return task.Task{}, refusal.WithField(strings.TrimPrefix(refusal.Field, task.FieldOf(0, "")))
	}
	if err != nil {
		return task.Task{}, err
	}
	return made[0], nil
}

// CreateBatch creates a graph of tasks, all or none, and returns them in the request's order. Recorded tasks are never
// lost: if Temporal is unavailable, the reconciler starts their workflows later.
func (c *Service) CreateBatch(
	ctx context.Context, user account.User, workspaceID int64, graph []task.NewTask, key string,
) ([]task.Task, error) {
	graph, err := c.checkGraph(ctx, user, workspaceID, graph)
	if err != nil {
		return nil, err
	}

	asked := core.Step[lifecycle.TaskState, lifecycle.TaskAction]{
		Action: lifecycle.TaskActionCreate, Roles: []lifecycle.Role{lifecycle.Anyone},
	}

	first, _, err := core.Move(lifecycle.Task, "", asked, lifecycle.TaskFacts{})
	if err != nil {
		return nil, err
	}

	made, created, err := c.Store.Tasks.Create(ctx, workspaceID, graph, first, core.Request{
		UserID: user.ID, Key: key, Asked: fmt.Sprintf("create %d %s", workspaceID, fingerprint(graph)),
	})
	if err != nil {
		return nil, err
	}

	if created && c.OnCreated != nil {
		c.OnCreated(len(made))
	}

	c.startAll(ctx, made)
	return made, nil
}

// checkGraph validates a graph and returns it with its defaults.
func (c *Service) checkGraph(
	ctx context.Context, user account.User, workspaceID int64, graph []task.NewTask,
) ([]task.NewTask, error) {
	if _, err := c.Workspace(ctx, user, workspaceID); err != nil {
		return nil, err
	}
	if len(graph) == 0 || len(graph) > MaxBatch {
		return nil, fault.Invalid("tasks", "a batch has 1 to %d tasks", MaxBatch)
	}

	if err := checkEdges(graph); err != nil {
		return nil, err
	}

	graph = slices.Clone(graph)
	isMember := c.memberships(workspaceID)
	for i := range graph {
		err := check(ctx, &graph[i], isMember)
		if refusal := fault.As(err); refusal != nil && refusal.Field != "" {
			return nil, refusal.WithField(task.FieldOf(i, refusal.Field))
		}
		if err != nil {
			return nil, err
		}
	}

	return graph, nil
}

// checkEdges refuses a graph with too many blockers in total.
func checkEdges(graph []task.NewTask) error {
	edges := 0
	for i, row := range graph {
		if edges += len(row.BlockedBy); edges > MaxEdges {
			return fault.Invalid(
				task.FieldOf(i, "blocked_by"), "the tasks of a batch have at most %d blockers in all: send several batches", MaxEdges,
			)
		}
	}
	return nil
}

// memberships returns a check for membership of a workspace that queries the record once per user.
func (c *Service) memberships(workspaceID int64) func(ctx context.Context, userID int64) (bool, error) {
	known := map[int64]bool{}
	return func(ctx context.Context, userID int64) (member bool, err error) {
		if member, asked := known[userID]; asked {
			return member, nil
		}
		if member, err = c.Store.Tasks.IsMember(ctx, workspaceID, userID); err == nil {
			known[userID] = member
		}
		return member, err
	}
}

// fingerprint identifies a request's content.
func fingerprint(asked any) string {
	text, err := json.Marshal(asked)
	if err != nil {
		return err.Error() // no request has this content
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// startAll starts the workflows that are ready to start. If one fails or takes too long, it and the rest are left to
// the reconciler.
func (c *Service) startAll(ctx context.Context, made []task.Task) {
	starts, ctx := errgroup.WithContext(ctx)
	starts.SetLimit(parallelStarts)
	for _, task := range made {
		starts.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			soon, cancel := context.WithTimeout(ctx, startPatience)
			defer cancel()
			return c.Start(soon, task)
		})
	}

	if err := starts.Wait(); err != nil {
		c.Log.Warn(
			"tasks recorded, their workflows will be started later", "tasks", len(made), "first", made[0].ID, "error", err,
		)
	}
}

// check fills in defaults and validates a task to be created.
func check(
	ctx context.Context, row *task.NewTask, isMember func(ctx context.Context, userID int64) (bool, error),
) error {
	row.Title = lifecycle.Plain(row.Title)
	row.Visibility = cmp.Or(row.Visibility, task.Public)
	row.Priority = cmp.Or(row.Priority, task.PriorityNormal)
	if row.Labels == nil {
		row.Labels = []string{}
	}

	if err := checkTexts(row.Title, row.Description, row.Priority, row.Labels); err != nil {
		return err
	}

	switch {
	case !slices.Contains([]string{task.Public, task.Private}, row.Visibility):
		return fault.Invalid("visibility", "visibility is public or private")
	case len(row.BlockedBy) > MaxBlockers:
		return fault.Invalid("blocked_by", "a task has at most %d blockers", MaxBlockers)
	case row.AssigneeID == nil:
		return nil
	}

	member, err := isMember(ctx, *row.AssigneeID)
	if err == nil && !member {
		return fault.Invalid("assignee_id", "the assignee is not a member of the workspace")
	}
	return err
}

// checkResult refuses results that the record cannot store unchanged.
func checkResult(result json.RawMessage) error {
	switch {
	case len(result) > MaxResult:
		return fault.Invalid("result", "a result has at most %d bytes", MaxResult)
	case !utf8.Valid(result) || !json.Valid(result):
		return fault.Invalid("result", "this is not JSON in UTF-8")
	case depthOf(result) > maxResultDepth:
		return fault.Invalid("result", "a result has at most %d levels of lists and objects", maxResultDepth)
	default:
		return nil
	}
}

// depthOf returns how deeply lists and objects are nested in a JSON text.
func depthOf(text json.RawMessage) (deepest int) {
	depth := 0
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		decoder.UseNumber()
		token, err := decoder.Token()
		if err != nil {
			return deepest
		}

		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

// checkEdit validates the fields to change.
func checkEdit(e *task.Edit) error {
	if *e == (task.Edit{}) {
		return fault.Invalid("body", "give at least one field to change")
	}

	if e.Title != nil {
		title := lifecycle.Plain(*e.Title)
		e.Title = &title
	}

	orElse := func(wanted *string, fine string) string {
		if wanted == nil {
			return fine
		}
		return *wanted
	}

	var labels []string
	if e.Labels != nil {
		labels = *e.Labels
	}
	return checkTexts(orElse(e.Title, "a title"), orElse(e.Description, ""), orElse(e.Priority, task.PriorityNormal), labels)
}

// checkTexts validates a task's editable fields.
func checkTexts(title, description, priority string, labels []string) error {
	length := utf8.RuneCountInString(title)
	switch {
	case length < MinTitle || length > MaxTitle:
		return fault.Invalid("title", "a title has %d to %d characters", MinTitle, MaxTitle)
	case strings.ContainsFunc(title, unicode.IsControl):
		return fault.Invalid("title", "a title is one line of text")
	case utf8.RuneCountInString(description) > MaxDescription:
		return fault.Invalid("description", "a description has at most %d characters", MaxDescription)
	case !lifecycle.IsText(description):
		return lifecycle.NotText("description")
	case !slices.Contains(task.Priorities, priority):
		return fault.Invalid("priority", "priority is low, normal, high or critical")
	case len(labels) > MaxLabels || slices.ContainsFunc(labels, isNoLabel):
		return fault.Invalid("labels", "at most %d labels of 1 to %d characters, on one line each", MaxLabels, MaxLabel)
	default:
		return nil
	}
}

func isNoLabel(l string) bool {
	return l == "" || utf8.RuneCountInString(l) > MaxLabel || strings.ContainsFunc(l, unicode.IsControl)
}

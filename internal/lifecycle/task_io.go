package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"stagecoach/internal/fault"
)

// TaskInput is the input of an update. To is for the update status only.
type TaskInput struct {
	Actor   int64     `json:"actor"`
	Comment string    `json:"comment"`
	To      TaskState `json:"to,omitempty"`
}

// MaxComment is the longest comment, in characters.
const MaxComment = 4000

// TaskUpdates lists the actions that come as updates.
var TaskUpdates = []TaskAction{TaskActionClaim, TaskActionEscalate, TaskActionTakeover, TaskActionStatus}

func CheckTaskInput(action TaskAction, in TaskInput) *fault.Error {
	switch {
	case in.Actor <= 0:
		return fault.New(fault.Validation, "an actor is required").WithField("actor")
	case action == TaskActionStatus && !slices.Contains(TaskStates, in.To):
		return fault.New(fault.Validation, "to must be one of %v", TaskStates).WithField("to")
	default:
		return CheckComment(in.Comment)
	}
}

func CheckComment(comment string) *fault.Error {
	switch {
	case utf8.RuneCountInString(comment) > MaxComment:
		return fault.New(fault.Validation, "a comment has at most %d characters", MaxComment).WithField("comment")
	case !IsText(comment):
		return NotText("comment")
	default:
		return nil
	}
}

// IsText says whether the record can hold a text: PostgreSQL refuses NUL and bytes that are not UTF-8.
func IsText(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

func NotText(field string) *fault.Error {
	return fault.New(fault.Validation, "this is not text: it holds a NUL, or is not UTF-8").WithField(field)
}

func TaskAskOf(action TaskAction, in TaskInput, caller TaskCaller) TaskAsk {
	ask := TaskAsk{Action: action, Comment: in.Comment, Caller: caller}
	if action == TaskActionStatus {
		ask.To = in.To
	}
	return ask
}

// TaskView is the answer of the state query and of the updates.
type TaskView struct {
	StateView
	Version    int64      `json:"version"`
	AssigneeID *int64     `json:"assignee_id,omitempty"`
	DeadlineAt *time.Time `json:"status_deadline_at,omitempty"`
	ReleaseAt  *time.Time `json:"release_at,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	ClockWaits bool       `json:"clock_waits,omitempty"` // the deadline begins with the last blocker's end
}

// TaskTitle names a task's workflow for operators.
func TaskTitle(taskID int64, workspace string) string {
	if workspace == "" { // an operator has started it without search attributes
		return fmt.Sprintf("Task %d", taskID)
	}
	return fmt.Sprintf("Task %d of workspace %s", taskID, workspace)
}

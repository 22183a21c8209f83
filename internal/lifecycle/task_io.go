package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"stagecoach/internal/fault"
)

// TaskInput is the input of an update. To is for the update status only, LeaseSeconds for claim and takeover, Submission
// for approve and reject, Content for submit and edit.
type TaskInput struct {
	Actor        int64     `json:"actor"`
	Comment      string    `json:"comment"`
	To           TaskState `json:"to,omitempty"`
	LeaseSeconds int64     `json:"lease_seconds,omitempty"`
	FencingToken int64     `json:"fencing_token,omitempty"`
	Submission   int64     `json:"submission,omitempty"` // the one that the actor has seen
	Content      string    `json:"content,omitempty"`    // identifies what the record stores under the update's id
	Fresh        bool      `json:"fresh,omitempty"`      // a claim of a task that the actor does not have yet
}

// MaxComment is the longest comment, in characters.
const MaxComment = 4000

// TaskUpdates lists the actions requested by people. All are sent as updates.
var TaskUpdates = []TaskAction{
	TaskActionClaim, TaskActionEscalate, TaskActionTakeover, TaskActionStatus,
	TaskActionSubmit, TaskActionApprove, TaskActionReject, TaskActionEdit,
}

func CheckTaskInput(action TaskAction, in TaskInput) *fault.Error {
	switch {
	case in.Actor <= 0:
		return fault.New(fault.Validation, "an actor is required").WithField("actor")
	case action == TaskActionStatus && !slices.Contains(TaskStates, in.To):
		return fault.New(fault.Validation, "to must be one of %v", TaskStates).WithField("to")
	case in.FencingToken < 0:
		return fault.New(fault.Validation, "a fencing token is a positive number").WithField("fencing_token")
	case in.Submission < 0:
		return fault.New(fault.Validation, "a submission is named by its number").WithField("submission")
	case in.LeaseSeconds != 0:
		if err := checkLease(action, in.LeaseSeconds); err != nil {
			return err
		}
	}
	return CheckComment(in.Comment)
}

func checkLease(action TaskAction, seconds int64) *fault.Error {
	switch {
	case action != TaskActionClaim && action != TaskActionTakeover:
		return fault.New(fault.Validation, "only a claim or a takeover can ask for a lease").WithField("lease_seconds")
	case seconds < LeastLease || seconds > LongestLease:
		return fault.New(
			fault.Validation, "a lease has %d to %d seconds", LeastLease, LongestLease,
		).WithField("lease_seconds")
	default:
		return nil
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

// Plain trims surrounding whitespace; it returns an empty text if nothing in it would be visible.
func Plain(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.In(r, unicode.Mn, unseen)
	}) {
		return strings.TrimSpace(text)
	}
	return ""
}

// unseen are letters and symbols that fonts render as blanks.
var unseen = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x115F, Hi: 0x1160, Stride: 1},
	{Lo: 0x2800, Hi: 0x2800, Stride: 1},
	{Lo: 0x3164, Hi: 0x3164, Stride: 1},
	{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1},
}}

// IsText reports whether the record can store a text: PostgreSQL rejects NUL and invalid UTF-8.
func IsText(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

func NotText(field string) *fault.Error {
	return fault.New(fault.Validation, "this is not text: it contains a NUL or is not UTF-8").WithField(field)
}

func TaskAskOf(action TaskAction, in TaskInput, caller TaskCaller) TaskAsk {
	ask := TaskAsk{
		Action: action, Comment: in.Comment, Caller: caller, FencingToken: in.FencingToken, LeaseSeconds: in.LeaseSeconds,
		Submission: in.Submission, Fresh: in.Fresh,
	}
	if action == TaskActionStatus {
		ask.To = in.To
	}
	return ask
}

// TaskView is the answer of the state query and the updates.
type TaskView struct {
	StateView
	Version    int64      `json:"version"`
	AssigneeID *int64     `json:"assignee_id,omitempty"`
	DeadlineAt *time.Time `json:"status_deadline_at,omitempty"`
	ReleaseAt  *time.Time `json:"release_at,omitempty"`

	FencingToken   int64      `json:"fencing_token,omitempty"`
	LeaseExpiresAt *time.Time `json:"lease_expires_at,omitempty"`

	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	ClockWaits bool       `json:"clock_waits,omitempty"` // the deadline starts when the last blocker ends
}

// TaskTitle is the title of a task's workflow for operators.
func TaskTitle(taskID int64, workspace string) string {
	if workspace == "" { // an operator started it without search attributes
		return fmt.Sprintf("Task %d", taskID)
	}
	return fmt.Sprintf("Task %d of workspace %s", taskID, workspace)
}

package lifecycle

import "stagecoach/internal/fault"

// The actions that leave a task's status unchanged.
const (
	TaskActionSubmit  TaskAction = "submit"
	TaskActionApprove TaskAction = "approve"
	TaskActionReject  TaskAction = "reject"
	TaskActionEdit    TaskAction = "edit"
)

// TaskEdited is the event of a task whose priority or labels may have changed.
const TaskEdited = "edited"

// Guards of the review, and the states in which an assignee's result may be reviewed.
var (
	reviewed  = Guard[TaskFacts]{Name: "the submission is approved", Code: fault.ReviewRequired, Holds: func(f TaskFacts) bool { return !f.ReviewMissing }}
	isCurrent = Guard[TaskFacts]{Name: "the current submission is named", Code: fault.SubmissionNotCurrent, Holds: func(f TaskFacts) bool { return f.Submission != 0 && f.Named == f.Submission }}

	finishGuards = []Guard[TaskFacts]{commented, reviewed}
	reviewGuards = []Guard[TaskFacts]{commented, isCurrent}

	judged = []TaskState{TaskInProgress, TaskBlocked, TaskStuck}
)

// EndsSubmission reports whether a step voids the assignee's result and its approval: the task gets another assignee or
// none.
func (f TaskFacts) EndsSubmission(assigneeAfter *int64) bool {
	return assigneeAfter == nil || !f.HeldBy(*assigneeAfter)
}

// submission is the number of the current submission; nil: none.
func (f TaskFacts) submission() *int64 {
	if f.Submission == 0 {
		return nil
	}
	return &f.Submission
}

package tasks

import (
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
)

// kinds are the error codes specific to operations on tasks.
var kinds = map[fault.Code]server.Kind{
	fault.WorkspaceNotFound:    {Status: http.StatusNotFound, Title: "Workspace not found"},
	fault.TaskNotFound:         {Status: http.StatusNotFound, Title: "Task not found"},
	fault.TaskAlreadyClaimed:   {Status: http.StatusConflict, Title: "Someone else has the task"},
	fault.UnresolvedBlockers:   {Status: http.StatusConflict, Title: "The task is waiting for other tasks"},
	fault.CannotEscalateOwn:    {Status: http.StatusConflict, Title: "The caller is working on this task"},
	fault.CannotTakeover:       {Status: http.StatusConflict, Title: "The caller already has this task"},
	fault.NoLease:              {Status: http.StatusConflict, Title: "The claim has no lease"},
	fault.LeaseLost:            {Status: http.StatusConflict, Title: "The claim has ended"},
	fault.ReviewRequired:       {Status: http.StatusConflict, Title: "The submission is not approved"},
	fault.SubmissionNotCurrent: {Status: http.StatusConflict, Title: "This is not the current submission"},
	fault.CommentRequired:      {Status: http.StatusUnprocessableEntity, Title: "A comment is required"},
	fault.CyclicDependency:     {Status: http.StatusUnprocessableEntity, Title: "The tasks wait for each other in a cycle"},
	fault.UnknownBlocker:       {Status: http.StatusUnprocessableEntity, Title: "Unknown blocker"},
}

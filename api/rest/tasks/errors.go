package tasks

import (
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
)

// kinds are the codes that the operations of tasks answer with, besides those of any operation.
var kinds = map[fault.Code]server.Kind{
	fault.WorkspaceNotFound:    {Status: http.StatusNotFound, Title: "There is no such workspace"},
	fault.TaskNotFound:         {Status: http.StatusNotFound, Title: "There is no such task"},
	fault.TaskAlreadyClaimed:   {Status: http.StatusConflict, Title: "Somebody else has the task"},
	fault.UnresolvedBlockers:   {Status: http.StatusConflict, Title: "The task waits for others"},
	fault.CannotEscalateOwn:    {Status: http.StatusConflict, Title: "The caller works on this task"},
	fault.CannotTakeover:       {Status: http.StatusConflict, Title: "The caller has this task already"},
	fault.LeaseLost:            {Status: http.StatusConflict, Title: "The claim has ended"},
	fault.ReviewRequired:       {Status: http.StatusConflict, Title: "The submission is not approved"},
	fault.SubmissionNotCurrent: {Status: http.StatusConflict, Title: "This is not the current submission"},
	fault.CommentRequired:      {Status: http.StatusUnprocessableEntity, Title: "A comment is required"},
	fault.CyclicDependency:     {Status: http.StatusUnprocessableEntity, Title: "The tasks wait for each other"},
	fault.UnknownBlocker:       {Status: http.StatusUnprocessableEntity, Title: "A blocker is not known"},
}

package delivery

import (
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/workflows/lifecycle"
)

var (
	triesLeft  = lifecycle.Guard[store.Job]{Name: "attempt < 3", Code: fault.TooManyAttempts, Holds: func(j store.Job) bool { return j.Attempt < store.JobTries }}
	retryLeft  = lifecycle.Guard[store.Job]{Name: "a try is left after this one", Code: fault.TooManyAttempts, Holds: func(j store.Job) bool { return j.Attempt+1 < store.JobTries }}
	userActive = lifecycle.Guard[store.Job]{Name: "the user is ACTIVE", Code: fault.UserNotActive, Holds: func(j store.Job) bool { return j.UserStatus == store.UserActive }}
)

// Rules is the lifecycle of a delivery job. Everything that moves a job asks this table.
var Rules = lifecycle.Table[store.JobState, store.JobAction, store.Job]{
	Entity: "delivery",
	Stages: []lifecycle.Stage[store.JobState]{
		{State: store.JobQueued, Means: "waits for a free worker", LeftBy: "a worker, the user, the TTL"},
		{State: store.JobClaimed, Means: "one worker has it", LeftBy: "that worker, the user"},
		{State: store.JobDownloading, Means: "the file is being opened at the storage", LeftBy: "that worker, the user"},
		{State: store.JobStreaming, Means: "bytes go from the storage to Telegram", LeftBy: "that worker, the user"},
		{State: store.JobDelivered, Means: "Telegram acknowledged the file", Terminal: true},
		{State: store.JobFailed, Means: "it ended without delivery; the reason is recorded", Terminal: true},
		{State: store.JobCancelled, Means: "a person stopped it", Terminal: true},
		{State: store.JobExpired, Means: "no worker was free within the TTL", Terminal: true},
	},
	Rules: []lifecycle.Rule[store.JobState, store.JobAction, store.Job]{
		{Action: store.JobActionEnqueue, To: store.JobQueued, Who: []lifecycle.Role{lifecycle.Owner}, Guards: []lifecycle.Guard[store.Job]{userActive}, Event: "enqueued", Effect: "a repeated idempotency key returns the existing job"},
		{Action: store.JobActionClaim, From: []store.JobState{store.JobQueued}, To: store.JobClaimed, Who: system, Event: "claimed", Effect: "heartbeat_at = now"},
		{Action: store.JobActionStartDownload, From: []store.JobState{store.JobClaimed}, To: store.JobDownloading, Who: system, Guards: []lifecycle.Guard[store.Job]{triesLeft, userActive}, Event: "download_started"},
		{Action: store.JobActionStream, From: []store.JobState{store.JobDownloading}, To: store.JobStreaming, Who: system, Event: "streaming_started"},
		{Action: store.JobActionAcknowledge, From: []store.JobState{store.JobStreaming}, To: store.JobDelivered, Who: system, Event: "delivered", Effect: "message id and file_id are kept"},
		{Action: store.JobActionRequeue, From: held, To: store.JobQueued, Who: system, Guards: []lifecycle.Guard[store.Job]{retryLeft}, Event: "requeued", Effect: "attempt + 1, last_error recorded, backoff"},
		{Action: store.JobActionHandOver, From: held, To: store.JobQueued, Who: system, Event: "requeued", Effect: "its worker stops in good order: no try is lost"},
		{Action: store.JobActionFail, From: live, To: store.JobFailed, Who: system, Event: "failed", Effect: "reason recorded"},
		{Action: store.JobActionCancel, From: live, To: store.JobCancelled, Who: []lifecycle.Role{lifecycle.Owner, lifecycle.Admin, lifecycle.System}, Event: "cancelled", Effect: "the stream stops within one heartbeat"},
		{Action: store.JobActionExpire, From: []store.JobState{store.JobQueued}, To: store.JobExpired, Who: system, Event: "expired"},
	},
}

var (
	system = []lifecycle.Role{lifecycle.System}
	held   = []store.JobState{store.JobClaimed, store.JobDownloading, store.JobStreaming}
	live   = append([]store.JobState{store.JobQueued}, held...)
)

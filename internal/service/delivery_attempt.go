package service

import (
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// AttemptOf is what the record says about a job's attempts.
func AttemptOf(job store.Job) lifecycle.Attempt {
	return lifecycle.Attempt{
		State: job.State, Failed: job.Attempt, Reason: fault.Code(job.LastError), NextAt: job.NextAttemptAt, Busy: job.Busy,
	}
}

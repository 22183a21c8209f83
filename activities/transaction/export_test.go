package transaction

import "stagecoach/internal/temporalio"

// What tests from outside see: they may use packages that import this one.
var (
	RefuseHere     = refuseHere
	AttemptWithKey = attemptWithKey
	SendHeartbeats = sendHeartbeats
)

// The numbers that they need.
const (
	HeartbeatEvery = temporalio.HeartbeatEvery
	QuickTries     = quickTries
)

package lifecycle

import "go.temporal.io/sdk/temporal"

// MainQueue is the task queue of all workflows and of short activities.
const MainQueue = "stagecoach"

// Search attributes that every workload sets where they apply.
var (
	StageAttribute     = temporal.NewSearchAttributeKeyKeyword("Stage")     // the state
	OwnerAttribute     = temporal.NewSearchAttributeKeyKeyword("Owner")     // a user id
	AttentionAttribute = temporal.NewSearchAttributeKeyBool("Attention")    // a person should look
	WorkspaceAttribute = temporal.NewSearchAttributeKeyKeyword("Workspace") // a workspace id
	AssigneeAttribute  = temporal.NewSearchAttributeKeyKeyword("Assignee")  // a user id
	DeadlineAttribute  = temporal.NewSearchAttributeKeyTime("DeadlineAt")   // when the state's time is up
)

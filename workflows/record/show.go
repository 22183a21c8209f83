package record

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/temporalio"
)

// Shown is what operators find a workflow by.
type Shown struct {
	Stage     string
	WaitsFor  string // one of lifecycle.WaitsFor…; empty: nothing
	Attention bool   // a person should check

	// DeadlineAt is when the state times out; nil: it does not. It is shown only together with a change of the others: it
	// may come from a setting, and a setting must never decide whether there is an event.
	DeadlineAt *time.Time

	Others []temporal.SearchAttributeUpdate // specific to one workload, if changed
}

// Show sets the search attributes that changed since the workflow last set them, in one event. An attribute that cannot
// be set must not stop a workflow.
func Show(ctx workflow.Context, now Shown) {
	updates := AppendKeyword(ctx, now.Others, temporalio.StageAttribute, now.Stage)
	updates = AppendKeyword(ctx, updates, temporalio.WaitsForAttribute, now.WaitsFor)

	attention, _ := workflow.GetTypedSearchAttributes(ctx).GetBool(temporalio.AttentionAttribute)
	switch {
	case now.Attention && !attention:
		updates = append(updates, temporalio.AttentionAttribute.ValueSet(true))
	case attention && !now.Attention:
		updates = append(updates, temporalio.AttentionAttribute.ValueUnset())
	}

	if len(updates) > 0 {
		updates = AppendTime(ctx, updates, temporalio.DeadlineAttribute, now.DeadlineAt)
		_ = workflow.UpsertTypedSearchAttributes(ctx, updates...)
	}
}

// AppendKeyword appends the update of a changed keyword; an empty value unsets it.
func AppendKeyword(
	ctx workflow.Context, updates []temporal.SearchAttributeUpdate, key temporal.SearchAttributeKeyKeyword, value string,
) []temporal.SearchAttributeUpdate {
	switch shown, _ := workflow.GetTypedSearchAttributes(ctx).GetKeyword(key); {
	case shown == value:
		return updates
	case value == "":
		return append(updates, key.ValueUnset())
	default:
		return append(updates, key.ValueSet(value))
	}
}

// AppendTime appends the update of a changed time; nil unsets it.
func AppendTime(
	ctx workflow.Context, updates []temporal.SearchAttributeUpdate, key temporal.SearchAttributeKeyTime, at *time.Time,
) []temporal.SearchAttributeUpdate {
	switch shown, known := workflow.GetTypedSearchAttributes(ctx).GetTime(key); {
	case at == nil && known:
		return append(updates, key.ValueUnset())
	case at != nil && !(known && shown.Equal(*at)):
		return append(updates, key.ValueSet(*at))
	default:
		return updates
	}
}

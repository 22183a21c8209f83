package temporalio

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"reflect"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/lifecycle"
)

// Schedule runs a workflow of the main queue at an interval. Runs do not overlap.
type Schedule struct {
	ID, WorkflowType, Title string
	Every, Offset           time.Duration // since the epoch, UTC
	Input                   []any
	AtOnce                  bool          // the first run begins when the schedule is created
	CatchUp                 time.Duration // how late a run prevented by an outage may still begin
}

// Schedules are the schedules of a namespace.
type Schedules struct {
	Temporal  client.Client
	Namespace string
	Payloads  converter.DataConverter // of Temporal's client; nil: the SDK's default
}

// Ensure creates a schedule. It updates an existing one's interval, policy and workflow if they differ, and re-encrypts
// its encrypted parts with the current key. A pause stays.
func (s Schedules) Ensure(ctx context.Context, wanted Schedule) error {
	action := &client.ScheduleWorkflowAction{
		ID: wanted.ID, Workflow: wanted.WorkflowType, TaskQueue: lifecycle.MainQueue, Args: wanted.Input,
		StaticSummary: wanted.Title,
	}
	spec := client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: wanted.Every, Offset: wanted.Offset}}}
	policy := client.SchedulePolicies{Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: wanted.CatchUp}

	_, err := s.Temporal.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: wanted.ID, Spec: spec, Action: action, Overlap: policy.Overlap, CatchupWindow: policy.CatchupWindow,
		TriggerImmediately: wanted.AtOnce,
	})
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	// As stored by the server: the SDK's description hides what is encrypted, and with which key.
	existing, err := s.Temporal.WorkflowService().DescribeSchedule(
		ctx, &workflowservice.DescribeScheduleRequest{Namespace: s.Namespace, ScheduleId: wanted.ID},
	)
	if err != nil || s.same(existing.GetSchedule(), wanted) {
		return err
	}

	return s.Temporal.ScheduleClient().GetHandle(ctx, wanted.ID).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			return &client.ScheduleUpdate{Schedule: &client.Schedule{
				Spec: &spec, Action: action, Policy: &policy, State: in.Description.Schedule.State,
			}}, nil
		},
	})
}

// same reports whether a schedule is as wanted.
func (s Schedules) same(existing *schedulepb.Schedule, wanted Schedule) bool {
	spec, policy, action := existing.GetSpec(), existing.GetPolicies(), existing.GetAction().GetStartWorkflow()
	if len(spec.GetInterval()) != 1 || len(spec.GetStructuredCalendar())+len(spec.GetExcludeStructuredCalendar()) > 0 {
		return false
	}

	at := spec.GetInterval()[0]
	payloads := append(action.GetInput().GetPayloads(), action.GetUserMetadata().GetSummary())
	return at.GetInterval().AsDuration() == wanted.Every && at.GetPhase().AsDuration() == wanted.Offset &&
		policy.GetOverlapPolicy() == enumspb.SCHEDULE_OVERLAP_POLICY_SKIP &&
		policy.GetCatchupWindow().AsDuration() == wanted.CatchUp &&
		action.GetWorkflowType().GetName() == wanted.WorkflowType &&
		action.GetTaskQueue().GetName() == lifecycle.MainQueue &&
		s.hold(payloads, append(wanted.Input, wanted.Title)...)
}

// hold reports whether payloads are values, encoded as new payloads of them would be. An unreadable one is not.
func (s Schedules) hold(payloads []*commonpb.Payload, values ...any) bool {
	if len(payloads) != len(values) {
		return false
	}

	encoding := cmp.Or[converter.DataConverter](s.Payloads, converter.GetDefaultDataConverter())
	for i, value := range values {
		fresh, err := encoding.ToPayload(value)
		if err != nil || !maps.EqualFunc(fresh.GetMetadata(), payloads[i].GetMetadata(), func(a, b []byte) bool {
			return string(a) == string(b)
		}) {
			return false
		}

		held := reflect.New(reflect.TypeOf(value))
		if encoding.FromPayload(payloads[i], held.Interface()) != nil || !reflect.DeepEqual(held.Elem().Interface(), value) {
			return false
		}
	}
	return true
}

package temporalio_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/codec"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

func TestMain(m *testing.M) { testdb.Main(m, testtemporal.Stop) }

// TestEnsureSchedule creates a schedule, pauses it, and changes it in every way in which another release or an operator
// may have: it becomes as wanted, stays paused, and is not written if nothing differs.
func TestEnsureSchedule(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs Temporal")
	}

	ctx := t.Context()
	server, namespace := testtemporal.Namespace(t)
	connect := func(keys ...string) temporalio.Schedules {
		options := client.Options{
			HostPort: server.Address, Namespace: namespace, Logger: slog.New(slog.DiscardHandler),
		}
		var all []codec.Key
		for _, id := range keys {
			all = append(all, codec.Key{ID: id, Secret: bytes.Repeat([]byte(id), codec.KeySize)})
		}
		if len(all) > 0 {
			c, err := codec.New(all, true)
			if err != nil {
				t.Fatal(err)
			}
			c.ApplyToWorkers(&options)
		}

		c, err := client.Dial(options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return temporalio.Schedules{Temporal: c, Namespace: namespace, Payloads: options.DataConverter}
	}

	schedules := connect()
	wanted := temporalio.Schedule{
		ID: "ticks", WorkflowType: "Tick", Title: "Ticks", Every: time.Hour, Offset: 7 * time.Minute, CatchUp: time.Minute,
		Input: []any{map[string]int{"news": 7}},
	}
	handle := func() client.ScheduleHandle { return schedules.Temporal.ScheduleClient().GetHandle(ctx, wanted.ID) }
	describe := func() *client.ScheduleDescription {
		t.Helper()
		about, err := handle().Describe(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return about
	}
	// ensure reports whether the schedule was written.
	ensure := func() bool {
		t.Helper()
		var before time.Time
		if about, err := handle().Describe(ctx); err == nil {
			before = about.Info.LastUpdateAt
		}
		if err := schedules.Ensure(ctx, wanted); err != nil {
			t.Fatal(err)
		}

		about := describe()
		if action := about.Schedule.Action.(*client.ScheduleWorkflowAction); action.Workflow != wanted.WorkflowType ||
			action.TaskQueue != lifecycle.MainQueue || action.StaticSummary != wanted.Title {
			t.Errorf("it starts %+v", action)
		}
		every := client.ScheduleIntervalSpec{Every: wanted.Every, Offset: wanted.Offset}
		if spec := about.Schedule.Spec; len(spec.Intervals) != 1 || spec.Intervals[0] != every || len(spec.Calendars) != 0 {
			t.Errorf("it runs at %+v", spec)
		}
		if policy := about.Schedule.Policy; policy.Overlap != enumspb.SCHEDULE_OVERLAP_POLICY_SKIP || policy.CatchupWindow != wanted.CatchUp {
			t.Errorf("its policy is %+v", policy)
		}
		return about.Info.LastUpdateAt != before
	}

	ensure()
	if err := handle().Pause(ctx, client.SchedulePauseOptions{Note: "the auditors are here"}); err != nil {
		t.Fatal(err)
	}
	if ensure() {
		t.Error("it was written although nothing differs")
	}

	for name, change := range map[string]func(*client.Schedule, *client.ScheduleWorkflowAction){
		"interval": func(s *client.Schedule, _ *client.ScheduleWorkflowAction) { s.Spec.Intervals[0].Every *= 2 },
		"offset":   func(s *client.Schedule, _ *client.ScheduleWorkflowAction) { s.Spec.Intervals[0].Offset = 0 },
		"calendar": func(s *client.Schedule, _ *client.ScheduleWorkflowAction) {
			s.Spec.Calendars = []client.ScheduleCalendarSpec{{Hour: []client.ScheduleRange{{Start: 22}}}}
		},
		"overlap": func(s *client.Schedule, _ *client.ScheduleWorkflowAction) {
			s.Policy.Overlap = enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL
		},
		"catch-up": func(s *client.Schedule, _ *client.ScheduleWorkflowAction) { s.Policy.CatchupWindow = time.Hour },
		"type":     func(_ *client.Schedule, a *client.ScheduleWorkflowAction) { a.Workflow = "Tock" },
		"queue":    func(_ *client.Schedule, a *client.ScheduleWorkflowAction) { a.TaskQueue = "elsewhere" },
		"title":    func(_ *client.Schedule, a *client.ScheduleWorkflowAction) { a.StaticSummary = "Tocks" },
		"input":    func(_ *client.Schedule, a *client.ScheduleWorkflowAction) { a.Args = []any{map[string]int{"news": 8}} },
		"inputs":   func(_ *client.Schedule, a *client.ScheduleWorkflowAction) { a.Args = nil },
	} {
		err := handle().Update(ctx, client.ScheduleUpdateOptions{DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			schedule := in.Description.Schedule
			change(&schedule, schedule.Action.(*client.ScheduleWorkflowAction))
			return &client.ScheduleUpdate{Schedule: &schedule}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if !ensure() {
			t.Errorf("another %s stays", name)
		}
		if ensure() {
			t.Errorf("after another %s it is written twice", name)
		}
	}

	key := func() string {
		t.Helper()
		raw, err := schedules.Temporal.WorkflowService().DescribeSchedule(
			ctx, &workflowservice.DescribeScheduleRequest{Namespace: namespace, ScheduleId: wanted.ID},
		)
		if err != nil {
			t.Fatal(err)
		}
		action := raw.GetSchedule().GetAction().GetStartWorkflow()
		id := string(action.GetInput().GetPayloads()[0].GetMetadata()[codec.MetadataKeyID])
		if summary := string(action.GetUserMetadata().GetSummary().GetMetadata()[codec.MetadataKeyID]); summary != id {
			t.Errorf("the input has the key %q, the title %q", id, summary)
		}
		return id
	}
	for _, keys := range [][]string{{"a"}, {"b", "a"}, {"b"}} { // a key is rotated, and the old one removed
		schedules = connect(keys...)
		if written := ensure(); written != (len(keys) > 1 || keys[0] == "a") || key() != keys[0] {
			t.Errorf("with the keys %v it is encrypted with %q, written: %t", keys, key(), written)
		}
		if ensure() {
			t.Errorf("with the keys %v it is written twice", keys)
		}
	}

	if state := describe().Schedule.State; !state.Paused || state.Note != "the auditors are here" {
		t.Errorf("the pause is lost: %+v", state)
	}
}

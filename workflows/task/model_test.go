package task

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// Those who ask, by their ids. The creator of a task without another assignee may be its assignee, too.
const creatorID, assigneeID, memberID, outsiderID, adminID = 1, 2, 3, 4, 5

var people = map[string]lifecycle.TaskCaller{
	"creator":  {ID: creatorID, Member: true},
	"assignee": {ID: assigneeID, Member: true},
	"member":   {ID: memberID, Member: true},
	"outsider": {ID: outsiderID},
	"admin":    {ID: adminID, Admin: true},
}

// command is one event of a task: a caller asks, time jumps, or both.
type command struct {
	After    time.Duration // since the command before
	Who      string
	Action   string
	Target   string
	Comment  string
	Unblocks bool // its blockers are DONE from now on
}

func commands() *rapid.Generator[[]command] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) command {
		c := command{
			// Odd seconds: nothing is asked in the very moment of a deadline.
			After: time.Duration(rapid.IntRange(0, 90).Draw(t, "minutes"))*time.Minute + 7*time.Second,
			Who:   rapid.SampledFrom([]string{"creator", "assignee", "member", "admin", "outsider"}).Draw(t, "who"),
			Action: rapid.SampledFrom([]string{
				"claim", "escalate", "takeover", "status", "status", "status",
			}).Draw(t, "action"),
			Comment:  rapid.SampledFrom([]string{"c", "c", "c", " "}).Draw(t, "comment"),
			Unblocks: rapid.IntRange(0, 3).Draw(t, "unblocks") == 0,
		}
		if c.Action == "status" {
			c.Target = rapid.SampledFrom([]string{
				"NEW", "IN_PROGRESS", "IN_PROGRESS", "BLOCKED", "STUCK", "DONE", "CANCELLED",
			}).Draw(t, "target")
		}

		return c
	}), 1, 25)
}

// model is the task as a person would keep it with pen and paper.
type model struct {
	status   string
	holder   string // who of people, or ""
	public   bool
	blocked  bool
	entered  time.Time
	limits   map[string]time.Duration
	release  time.Duration
	expected []string // the events
}

// until lets time pass: deadlines and releases happen when they are due.
func (m *model) until(now time.Time) {
	for {
		limit := m.limits[m.status]
		if m.status == "STUCK" {
			limit = m.release
		}

		due := m.entered.Add(limit)
		if limit == 0 || due.After(now) {
			return
		}

		spent := int(limit / time.Minute)
		if m.status == "STUCK" {
			m.expected = append(
				m.expected, fmt.Sprintf("status_changed STUCK NEW Released by itself. Was in STUCK for %d minutes.", spent),
			)
			m.status, m.holder = "NEW", ""
		} else {
			m.expected = append(
				m.expected,
				fmt.Sprintf(
					"deadline_expired %s STUCK Status deadline expired. Was in %s for %d minutes.", m.status, m.status, spent,
				),
			)
			m.status = "STUCK"
		}

		m.entered = due
	}
}

// ask answers a command as the table does, and changes what it changes.
func (m *model) ask(c command, now time.Time) fault.Code {
	step, held, err := lifecycle.DecideTask(m.facts(), lifecycle.TaskAsk{
		Action: lifecycle.TaskAction(c.Action), To: lifecycle.TaskState(c.Target), Comment: c.Comment, Caller: people[c.Who],
	})
	if err != nil || held {
		return fault.CodeOf(err)
	}

	m.expected = append(m.expected, fmt.Sprintf("%s %s %s %s", step.Event, m.status, step.To, c.Comment))
	m.status, m.entered = string(step.To), now
	switch {
	case c.Action == "claim" || c.Action == "takeover":
		m.holder = c.Who
	case step.To == lifecycle.TaskNew:
		m.holder = ""
	}

	return ""
}

func (m *model) facts() lifecycle.TaskFacts {
	facts := lifecycle.TaskFacts{State: lifecycle.TaskState(m.status), CreatorID: creatorID, Public: m.public}
	if m.holder != "" {
		id := people[m.holder].ID
		facts.AssigneeID = &id
	}
	if m.blocked {
		facts.OpenBlockers = []int64{7}
	}
	return facts
}

// TestModel lets people do anything at any time and compares each answer, and what is left in the end, with the model.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		record := newMemory()
		m := &model{
			status: "NEW", public: rapid.IntRange(0, 3).Draw(rt, "private") > 0,
			release: time.Duration(rapid.SampledFrom([]int{0, 20}).Draw(rt, "release")) * time.Minute,
		}

		m.limits = map[string]time.Duration{}
		for _, status := range lifecycle.TaskTimed {
			limit := time.Duration(rapid.SampledFrom([]int{0, 30, 61, 120}).Draw(rt, string(status))) * time.Minute
			record.deadlines[status], m.limits[string(status)] = limit, limit
		}

		if !m.public {
			record.state.Visibility = task.Private
		}

		if rapid.Bool().Draw(rt, "assigned") {
			holder := int64(assigneeID)
			record.state.AssigneeID, m.holder = &holder, "assignee"
		}

		if rapid.Bool().Draw(rt, "blocked") {
			record.open, m.blocked = []int64{7}, true
		}

		record.release = m.release
		asked := commands().Draw(rt, "commands")

		l := newEnvRig(rt, record)
		m.entered = l.begin
		after := time.Duration(0)
		for _, c := range asked {
			after += c.After
			l.at(after, func() { l.compare(m, c) })
		}

		l.at(after+time.Hour, func() {
			if now := l.Now(); !lifecycle.Task.Terminal(record.state.State) {
				m.until(now)
				m.expected = append(m.expected, "status_changed "+m.status+" CANCELLED The workflow was cancelled by an operator.")
				m.status = "CANCELLED"
			}
			l.CancelWorkflow()
		})

		l.run()
		if err := l.GetWorkflowError(); err != nil {
			rt.Fatalf("the workflow ended with %v", err)
		}

		l.settle(m)
	})
}

// compare does one command both in the workflow and in the model.
func (l *envRig) compare(m *model, c command) {
	if lifecycle.Task.Terminal(l.memory.state.State) {
		return // the workflow is over; the client's tests see to what comes later
	}

	m.until(l.Now())
	if c.Unblocks {
		l.memory.open, m.blocked = nil, false
	}

	l.invariants(m)
	before := fmt.Sprintf("%s held by %q", m.status, m.holder)
	want := m.ask(c, l.Now())
	l.ask(lifecycle.TaskAction(c.Action), lifecycle.TaskInput{Actor: people[c.Who].ID, Comment: c.Comment, To: lifecycle.TaskState(c.Target)}, func(_ lifecycle.TaskView, err error) {
		got := fault.Code("")
		if refusal := temporalio.RefusalIn(err); refusal != nil {
			got = refusal.Code
		}
		if got != want && !(c.Who == "outsider" && got != "") { // the validator does not know who is an outsider
			l.t.Errorf("%s, %+v: got %v, want %q", before, c, err, want)
		}
	})
}

// invariants hold whenever nothing is under way: workflow, record and model agree, and a deadline runs where one must.
func (l *envRig) invariants(m *model) {
	record, view := l.memory.state, l.state()
	if string(record.State) != m.status || view.State != m.status || view.Version != record.Version || !record.HeldBy(people[m.holder].ID) && m.holder != "" {
		l.t.Errorf("record %+v, workflow %+v, model %s held by %q", record, view, m.status, m.holder)
	}
	if limit := m.limits[m.status]; (record.DeadlineAt != nil) != (limit > 0) || limit > 0 && !record.DeadlineAt.Equal(m.entered.Add(limit)) {
		l.t.Errorf("%s since %s has deadline %v", m.status, m.entered, record.DeadlineAt)
	}
}

// settle compares what is left in the end; the events, folded, are the state.
func (l *envRig) settle(m *model) {
	status := "NEW"
	var got []string
	for _, event := range l.memory.events {
		if event.From != status {
			l.t.Errorf("%s follows %s", event.From, status)
		}
		status = event.To
		got = append(got, fmt.Sprintf("%s %s %s %s", event.Type, event.From, event.To, event.Comment))
	}

	if string(l.memory.state.State) != status || m.status != status || l.memory.state.DeadlineAt != nil || l.memory.state.Version != int64(len(got))+1 {
		l.t.Errorf("events fold to %s, record %+v, model %s", status, l.memory.state, m.status)
	}
	if fmt.Sprint(got) != fmt.Sprint(m.expected) {
		l.t.Errorf("events\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(m.expected, "\n"))
	}
}

package task

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stagecoach/dev/night"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

func init() { night.RapidChecks(30) } // each lives through a whole task, with a record

// command is one event of a task: a caller's request, a jump in time, or both.
type command struct {
	After    time.Duration // since the previous command
	Who      string
	Action   string
	Target   string
	Comment  string
	Unblocks bool // its blockers are DONE from now on
	Old      bool // names the submission before the current one
}

// reviews are commands of people who finish, review and return work.
func reviews() *rapid.Generator[[]command] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) command {
		said := strings.Fields(rapid.SampledFrom([]string{
			"holder claim", "holder status IN_PROGRESS", "holder status IN_PROGRESS", "holder submit", "holder submit",
			"reviewer approve", "reviewer approve", "reviewer approve", "reviewer reject", "holder approve", "reviewer escalate",
			"reviewer escalate", "holder status NEW", "holder status DONE",
		}).Draw(t, "said"))
		c := command{
			After: time.Minute, Who: said[0], Action: said[1], Comment: "c", Old: rapid.IntRange(0, 5).Draw(t, "old") == 0,
		}
		if len(said) > 2 {
			c.Target = said[2]
		}
		return c
	}), 10, 40)
}

func commands() *rapid.Generator[[]command] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) command {
		c := command{
			// Odd seconds: no request coincides with a deadline.
			After: time.Duration(rapid.IntRange(0, 90).Draw(t, "minutes"))*time.Minute + 7*time.Second,
			Who: rapid.SampledFrom([]string{
				"creator", "assignee", "member", "admin", "outsider", "holder", "holder", "holder", "reviewer",
			}).Draw(t, "who"),
			Action: rapid.SampledFrom([]string{
				"claim", "escalate", "takeover", "status", "status", "status", "submit", "approve", "approve", "reject", "edit",
			}).Draw(t, "action"),
			Old:      rapid.IntRange(0, 5).Draw(t, "old") == 0,
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

// model is the task as a person would track it on paper.
type model struct {
	status   string
	holder   string // one of people, or ""
	public   bool
	blocked  bool
	entered  time.Time
	limits   map[string]time.Duration
	release  time.Duration
	releases int      // since a person last changed the status: each wait is twice the previous one
	expected []string // the events

	reviews    bool // the workspace requires a review
	submission int64
	approvedBy string
}

// until advances time: deadlines and releases happen when they are due.
func (m *model) until(now time.Time) {
	for {
		limit := m.limits[m.status]
		if m.status == "STUCK" {
			limit = min(m.release<<m.releases, max(m.release, 24*time.Hour))
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
			m.status, m.holder, m.releases = "NEW", "", m.releases+1
			m.submission, m.approvedBy = 0, ""
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

// ask answers a command like the table, and applies its changes.
func (m *model) ask(c command, now time.Time) fault.Code {
	step, held, err := lifecycle.DecideTask(m.facts(), lifecycle.TaskAsk{
		Action: lifecycle.TaskAction(c.Action), To: lifecycle.TaskState(c.Target), Comment: c.Comment, Caller: people[c.Who],
		Submission: m.named(c),
	})
	if err != nil || held {
		return fault.CodeOf(err)
	}

	comment := c.Comment
	if c.Action == "edit" {
		comment = "title: " + comment
	}
	m.expected = append(m.expected, fmt.Sprintf("%s %s %s %s", step.Event, m.status, step.To, comment))
	if c.stays() {
		m.judge(c)
		return ""
	}

	m.status, m.entered, m.releases = string(step.To), now, 0
	switch {
	case c.Action == "claim" || c.Action == "takeover":
		m.holder = c.Who
		m.submission, m.approvedBy = 0, ""
	case step.To == lifecycle.TaskNew:
		m.holder = ""
		m.submission, m.approvedBy = 0, ""
	}

	return ""
}

// stays reports whether a command leaves the status unchanged.
func (c command) stays() bool {
	return c.Action == "submit" || c.Action == "approve" || c.Action == "reject" || c.Action == "edit"
}

// person finds the holder of the task, or a possible reviewer, for commands that should succeed.
func (m *model) person(who string) string {
	switch {
	case who == "holder":
		return cmp.Or(m.holder, "assignee")
	case who == "reviewer" && m.holder == "member":
		return "creator"
	case who == "reviewer":
		return "member"
	default:
		return who
	}
}

func (m *model) named(c command) int64 {
	if c.Old {
		return m.submission - 1
	}
	return m.submission
}

// judge records who approved the current submission.
func (m *model) judge(c command) {
	switch c.Action {
	case "submit":
		m.submission, m.approvedBy = int64(len(m.expected))+1, "" // the number of its event, after the creation
	case "approve":
		m.approvedBy = c.Who
	case "reject":
		m.approvedBy = ""
	}
}

func (m *model) facts() lifecycle.TaskFacts {
	facts := lifecycle.TaskFacts{
		State: lifecycle.TaskState(m.status), CreatorID: creatorID, Public: m.public, Submission: m.submission,
		ReviewMissing: m.reviews && m.approvedBy == "",
	}
	if m.holder != "" {
		id := people[m.holder].ID
		facts.AssigneeID = &id
	}
	if m.blocked {
		facts.OpenBlockers = []int64{7}
	}
	return facts
}

// TestModel lets people do anything at any time and compares each answer, and the final state, with the model.
func TestModel(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := settings{
			deadlines: map[lifecycle.TaskState]time.Duration{}, reviews: rapid.Bool().Draw(rt, "reviews"),
			release:  time.Duration(rapid.SampledFrom([]int{0, 20}).Draw(rt, "release")) * time.Minute,
			private:  rapid.IntRange(0, 3).Draw(rt, "private") == 0,
			assigned: rapid.Bool().Draw(rt, "assigned"), blockers: rapid.IntRange(0, 1).Draw(rt, "blockers"),
		}
		for _, status := range lifecycle.TaskTimed {
			s.deadlines[status] = time.Duration(rapid.SampledFrom([]int{0, 30, 61, 120}).Draw(rt, string(status))) * time.Minute
		}
		playOut(rt, o, s, commands().Draw(rt, "commands"))
	})
}

// TestReviews does the same with a task that needs a review: it is DONE only after someone other than its assignee has
// approved the assignee's newest submission.
func TestReviews(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := settings{deadlines: map[lifecycle.TaskState]time.Duration{}, reviews: true}
		playOut(rt, o, s, reviews().Draw(rt, "commands"))
	})
}

// modelOf is the model of a new task.
func modelOf(l *envRig, s settings) *model {
	m := &model{
		status: "NEW", public: !s.private, blocked: s.blockers > 0, entered: l.begin, release: s.release, reviews: s.reviews,
		limits: map[string]time.Duration{},
	}
	for status, limit := range s.deadlines {
		m.limits[string(status)] = limit
	}
	if s.assigned {
		m.holder = "assignee"
	}
	return m
}

// playOut lets people act on a task, and an operator cancel it in the end.
func playOut(rt *rapid.T, o *office, s settings, asked []command) {
	l := o.rig(rt, s)
	m := modelOf(l, s)
	after := time.Duration(0)
	for _, c := range asked {
		after += c.After
		l.at(after, func() { l.compare(m, c) })
	}

	l.at(after+time.Hour, func() {
		if now := l.Now(); !lifecycle.Task.Terminal(l.row().State) {
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
}

// compare executes one command both in the workflow and in the model.
func (l *envRig) compare(m *model, c command) {
	if lifecycle.Task.Terminal(l.row().State) {
		return // the workflow has ended; the client's tests cover what comes later
	}

	m.until(l.Now())
	c.Who = m.person(c.Who)
	if c.Unblocks {
		l.unblock()
		m.blocked = false
	}

	l.invariants(m)
	before := fmt.Sprintf("%s held by %q", m.status, m.holder)
	in := lifecycle.TaskInput{
		Actor: people[c.Who].ID, Comment: c.Comment, To: lifecycle.TaskState(c.Target), Submission: max(0, m.named(c)),
	}
	want := m.ask(c, l.Now())
	l.ask(lifecycle.TaskAction(c.Action), in, func(_ lifecycle.TaskView, err error) {
		got := fault.Code("")
		if refusal := temporalio.RefusalIn(err); refusal != nil {
			got = refusal.Code
		}
		if got != want && !(c.Who == "outsider" && got != "") { // the validator does not know who is an outsider
			l.t.Errorf("%s, %+v: got %v, want %q", before, c, err, want)
		}
	})
}

// invariants hold whenever nothing is in flight: workflow, record and model agree, and a deadline is running if one
// must.
func (l *envRig) invariants(m *model) {
	record, view := l.row(), l.state()
	if string(record.State) != m.status || view.State != m.status || view.Version != record.Version || !record.HeldBy(people[m.holder].ID) && m.holder != "" {
		l.t.Errorf("record %+v, workflow %+v, model %s held by %q", record, view, m.status, m.holder)
	}
	if limit := m.limits[m.status]; (record.DeadlineAt != nil) != (limit > 0) || limit > 0 && !record.DeadlineAt.Equal(m.entered.Add(limit)) {
		l.t.Errorf("%s since %s has deadline %v", m.status, m.entered, record.DeadlineAt)
	}
}

// settle compares the final state; the events, folded, are the state.
func (l *envRig) settle(m *model) {
	status := "NEW"
	var got []string
	for _, event := range l.events(1) {
		if event.From != status {
			l.t.Errorf("%s follows %s", event.From, status)
		}
		status = event.To
		got = append(got, fmt.Sprintf("%s %s %s %s", event.Type, event.From, event.To, event.Comment))
	}

	record := l.row()
	if status == "DONE" && m.reviews && (!record.Approved || m.approvedBy == "" || m.approvedBy == m.holder) {
		l.t.Errorf("DONE, and %q has approved the work of %q", m.approvedBy, m.holder)
	}
	if string(record.State) != status || m.status != status || record.DeadlineAt != nil || record.Version != int64(len(got))+1 {
		l.t.Errorf("events fold to %s, record %+v, model %s", status, record, m.status)
	}
	if fmt.Sprint(got) != fmt.Sprint(m.expected) {
		l.t.Errorf("events\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(m.expected, "\n"))
	}
}

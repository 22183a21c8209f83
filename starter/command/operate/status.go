// Package operate has the commands with which operators check the service and maintain its database.
package operate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// NewStatus makes the command that shows the state of the service.
func NewStatus() *cobra.Command {
	return remote.Ask[shape.Status]{
		Admin: true, Use: "status", Short: "Show the state of the service (administrators only)",
		Call: "GET /v1/status", Show: showStatus,
	}.Command()
}

// showStatus writes the status for a screen of 80 columns.
func showStatus(cmd *cobra.Command, s shape.Status) error {
	rows := [][]string{
		{"waiting for a worker", fmt.Sprint(s.QueueDepth)},
		{"last heartbeat", terminal.Seconds(s.WorkerHeartbeatAge, "%s ago", "none")},
		{"storage token", terminal.Seconds(s.OAuthTokenExpiresIn, "expires in %s", "expiry unknown")},
		{"qBittorrent", qbittorrentText(s.QBittorrent)},
		{"stuck", cmp.Or(strings.Join(s.StuckJobs, ", "), "none")},
	}

	for _, workload := range lifecycle.Workloads {
		var counts []string
		for _, state := range workload.Table.StateNames() {
			if n := s.InState[workload.Name][state]; n > 0 {
				counts = append(counts, fmt.Sprintf("%s %d", state, n))
			}
		}
		rows = append(rows, []string{workload.Name, cmp.Or(strings.Join(counts, ", "), "none")})
	}

	rows = append(rows,
		[]string{"need review", fmt.Sprint(s.NeedsReview)},
		[]string{"open findings", fmt.Sprint(s.OpenFindings)},
	)

	for _, stop := range s.Stops {
		rows = append(rows, []string{"payments stopped", terminal.Shorten(stop.Name+": "+stop.Reason, 56)})
	}

	for _, alert := range s.Alerts {
		rows = append(rows, []string{"ALERT", alert.Kind + " since " + terminal.When(alert.OpenedAt)})
	}

	if err := terminal.Table(cmd.OutOrStdout(), rows); err != nil {
		return err
	}
	return terminal.Tables(
		cmd.OutOrStdout(),
		terminal.Rows(s.Queues, queueRow, "QUEUE", "KIND", "WAIT", "OLDEST", "WORKERS"),
		terminal.Rows(s.Workers, workerRow(s.Queues), "PROCESS", "VERSION", "HEARD", "IN FLIGHT", "QUEUES"),
		terminal.Rows(s.Outside, systemRow, "SYSTEM", "ANSWERS", "LAST SUCCESS", "LAST ERROR"),
		terminal.Rows(s.AboveLimits, limitRow, "USER ABOVE LIMIT", "LIMIT", "HAS", "MAY HAVE"),
		terminal.Rows(s.Errors, errorRow, "ERROR", "WORKLOAD", "TIMES"),
		terminal.Rows(s.Findings, findingRow, "FOUND", "WORKLOAD", "ENTITY", "FINDING", "DONE"),
	)
}

func queueRow(q shape.TaskQueue) []string {
	return []string{q.Name, q.Kind, fmt.Sprint(q.Depth), terminal.Seconds(&q.OldestAge, "%s", ""), fmt.Sprint(q.Workers)}
}

// workerRow returns a function that makes the row of one worker process. A process that serves all queues, the usual
// case, does not list them: there is no room.
func workerRow(queues []shape.TaskQueue) func(shape.Worker) []string {
	return func(w shape.Worker) []string {
		inFlight := "?"
		if w.Carries != nil {
			inFlight = fmt.Sprint(*w.Carries)
		}

		serves := terminal.Shorten(strings.Join(w.Queues, " "), 26)
		if !slices.ContainsFunc(queues, func(q shape.TaskQueue) bool { return !slices.Contains(w.Queues, q.Name) }) {
			serves = "all"
		}

		version := cmp.Or(shape.Value(w.Build), shape.Value(w.Version), "?")
		return []string{
			terminal.Shorten(w.Identity, 21), terminal.Shorten(version, 10),
			terminal.Seconds(&w.LastHeard, "%s ago", ""), inFlight, serves,
		}
	}
}

func systemRow(o shape.Outside) []string {
	answers := "yes"
	if !o.Answers {
		answers = "no" + terminal.Seconds(o.FailingFor, ", for %s", "")
	}
	return []string{o.Name, answers, terminal.Seconds(o.SuccessAge, "%s ago", "never"), shape.Value(o.Error)}
}

func limitRow(a shape.AboveLimit) []string {
	return []string{a.UserID, a.Limit, fmt.Sprint(a.Count), fmt.Sprint(a.Maximum)}
}

func errorRow(e shape.WorkloadError) []string {
	return []string{terminal.Shorten(e.Code, 44), e.Workload, fmt.Sprint(e.Count)}
}

func qbittorrentText(q *shape.Qbittorrent) string {
	switch {
	case q == nil:
		return "downloads are off"
	case q.Answers:
		return terminal.Seconds(q.AnswerAge, "answers, %s ago", "answers")
	default:
		return strings.TrimSpace("does not answer "+shape.Value(q.Error)) + terminal.Seconds(q.AnswerAge, ", last %s ago", "")
	}
}

func findingRow(f shape.Finding) []string {
	return []string{
		terminal.When(f.FoundAt), f.Workload, terminal.Shorten(f.EntityID, 16), f.Finding,
		cmp.Or(shape.Value(f.Done), "nothing yet"),
	}
}

// NewFindings makes the command that lists what the reconciler found.
func NewFindings() *cobra.Command {
	return remote.List[shape.Finding]{
		Admin: true, Use: "findings",
		Short: "List the reconciler's findings, newest first (administrators only)",
		Path:  "/v1/findings",
		Filters: []remote.Filter{
			{Flag: "workload", About: "filter by workload: " + strings.Join(lifecycle.Names(), ", ")},
			{Flag: "since", About: "only findings at or after this time, such as 2026-03-01T12:00:00Z"},
		},
		Show: remote.Rows(findingRow, "WHEN", "WORKLOAD", "ENTITY", "FINDING", "DONE"),
	}.Command()
}

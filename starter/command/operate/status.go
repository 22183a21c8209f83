// Package operate has the commands by which operators look at the service and maintain its database.
package operate

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// NewStatus makes the command that shows the state of the service.
func NewStatus() *cobra.Command {
	var t remote.Target
	cmd := remote.Ask[shape.Status]{
		As: t.AsAdmin, Use: "status", Short: "Show the state of the service (administrators only)", Args: terminal.Exactly(0),
		Call: func([]string) (client.Call, error) {
			return client.Call{Method: http.MethodGet, Path: "/v1/status"}, nil
		},
		Show: showStatus,
	}.Command()
	t.AddFlags(cmd)
	return cmd
}

// showStatus writes the status on a screen of 80 columns.
func showStatus(cmd *cobra.Command, s shape.Status) error {
	rows := [][]string{
		{"wait for a worker", fmt.Sprint(s.QueueDepth)},
		{"last heartbeat", terminal.Seconds(s.WorkerHeartbeatAge, "%s ago", "none")},
		{"storage token", terminal.Seconds(s.OAuthTokenExpiresIn, "expires in %s", "no end known")},
		{"qBittorrent", qbittorrentText(s)},
		{"stuck", cmp.Or(strings.Join(s.StuckJobs, ", "), "none")},
		{"deliveries", countsText(lifecycle.DeliveryStates, s.JobsInState)},
		{"tasks", countsText(lifecycle.TaskStates, s.TasksInStatus)},
		{"downloads", countsText(lifecycle.DownloadStates, s.DownloadsInStatus)},
		{"transactions", countsText(lifecycle.TransactionStates, s.TransactionsInStatus)},
		{"need review", fmt.Sprint(s.NeedsReview)},
		{"open findings", fmt.Sprint(s.OpenFindings)},
	}

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
		queueRows(s), workerRows(s), systemRows(s), limitRows(s), errorRows(s), findingRows(s),
	)
}

// countsText writes how many there are in each state, without the states that have none.
func countsText[S ~string](states []S, counts map[string]int64) string {
	var parts []string
	for _, state := range states {
		if n := counts[string(state)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", state, n))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

func queueRows(s shape.Status) [][]string {
	rows := [][]string{{"QUEUE", "KIND", "WAIT", "OLDEST", "WORKERS"}}
	for _, q := range s.Queues {
		rows = append(rows, []string{
			q.Name, q.Kind, fmt.Sprint(q.Depth), terminal.Seconds(&q.OldestAge, "%s", ""), fmt.Sprint(q.Workers),
		})
	}
	return rows
}

func workerRows(s shape.Status) [][]string {
	rows := [][]string{{"PROCESS", "VERSION", "HEARD", "IN FLIGHT", "QUEUES"}}
	for _, w := range s.Workers {
		inFlight := "?"
		if w.Carries != nil {
			inFlight = fmt.Sprint(*w.Carries)
		}
		rows = append(rows, []string{
			terminal.Shorten(w.Identity, 21), terminal.Shorten(cmp.Or(shape.Value(w.Build), shape.Value(w.Version), "?"), 10),
			terminal.Seconds(&w.LastHeard, "%s ago", ""), inFlight, strings.Join(w.Queues, " "),
		})
	}
	return rows
}

func systemRows(s shape.Status) [][]string {
	rows := [][]string{{"SYSTEM", "ANSWERS", "LAST SUCCESS", "LAST ERROR"}}
	for _, o := range s.Outside {
		answers := "yes"
		if !o.Answers {
			answers = "no" + terminal.Seconds(o.FailingFor, ", for %s", "")
		}
		rows = append(rows, []string{o.Name, answers, terminal.Seconds(o.SuccessAge, "%s ago", "never"), shape.Value(o.Error)})
	}
	return rows
}

func limitRows(s shape.Status) [][]string {
	rows := [][]string{{"USER ABOVE LIMIT", "LIMIT", "HAS", "MAY HAVE"}}
	for _, a := range s.AboveLimits {
		rows = append(rows, []string{a.UserID, a.Limit, fmt.Sprint(a.Count), fmt.Sprint(a.Maximum)})
	}
	return rows
}

func errorRows(s shape.Status) [][]string {
	rows := [][]string{{"ERROR", "WORKLOAD", "TIMES"}}
	for _, e := range s.Errors {
		rows = append(rows, []string{terminal.Shorten(e.Code, 44), e.Workload, fmt.Sprint(e.Count)})
	}
	return rows
}

func findingRows(s shape.Status) [][]string {
	rows := [][]string{{"FOUND", "WORKLOAD", "ENTITY", "FINDING", "DONE"}}
	for _, f := range s.Findings {
		rows = append(rows, findingRow(f))
	}
	return rows
}

func qbittorrentText(s shape.Status) string {
	q := s.QBittorrent
	switch {
	case q == nil:
		return "downloads are off"
	case q.Answers:
		return terminal.Seconds(q.AnswerAge, "answers, %s ago", "answers")
	default:
		return strings.TrimSpace("does not answer "+shape.Value(q.Error)) + terminal.Seconds(q.AnswerAge, ", last %s ago", "")
	}
}

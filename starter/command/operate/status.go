// Package operate has the commands by which operators look at the service and maintain its database.
package operate

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// wholeStatus is the state of the service, as the API shows it. Times are seconds.
type wholeStatus struct {
	QueueDepth          int64                             `json:"queue_depth"`
	JobsInState         map[lifecycle.DeliveryState]int64 `json:"jobs_in_state"`
	WorkerHeartbeatAge  *float64                          `json:"worker_heartbeat_age_seconds"`
	OAuthTokenExpiresIn *float64                          `json:"oauth_token_expires_in_seconds"`
	TopErrors           []struct {
		Code  string `json:"code"`
		Count int64  `json:"count"`
	} `json:"top_errors"`
	StuckJobs []string `json:"stuck_jobs"`

	AboveLimits []struct {
		UserID  string `json:"user_id"`
		Limit   string `json:"limit"`
		Maximum int    `json:"maximum"`
		Count   int64  `json:"count"`
	} `json:"above_limits"`

	DownloadsInStatus map[lifecycle.DownloadState]int64 `json:"downloads_in_status"`
	QBittorrent       *struct {
		Answers   bool     `json:"answers"`
		AnswerAge *float64 `json:"last_answer_age_seconds"`
		Error     string   `json:"error"`
	} `json:"qbittorrent"` // nil: downloads are off

	TasksInStatus        map[lifecycle.TaskState]int64        `json:"tasks_in_status"`
	TransactionsInStatus map[lifecycle.TransactionState]int64 `json:"transactions_in_status"`
	NeedsReview          int64                                `json:"transactions_needing_review"`
	Queues               []struct {
		Name      string  `json:"name"`
		Kind      string  `json:"kind"`
		Depth     int64   `json:"depth"`
		OldestAge float64 `json:"oldest_age_seconds"`
		Workers   int     `json:"workers"`
	} `json:"queues"`
	Workers []struct {
		Identity  string   `json:"identity"`
		Version   string   `json:"version"`
		Build     string   `json:"build"`
		LastHeard float64  `json:"last_heard_seconds"`
		Carries   *int     `json:"carries"`
		Queues    []string `json:"queues"`
	} `json:"workers"`
	Outside []struct {
		Name       string   `json:"name"`
		Answers    bool     `json:"answers"`
		SuccessAge *float64 `json:"last_success_age_seconds"`
		Error      string   `json:"last_error"`
		FailingFor *float64 `json:"failing_for_seconds"`
	} `json:"outside_systems"`
	Errors []struct {
		Workload string `json:"workload"`
		Code     string `json:"code"`
		Count    int64  `json:"count"`
	} `json:"errors"`
	Alerts []struct {
		Kind     string    `json:"kind"`
		OpenedAt time.Time `json:"opened_at"`
	} `json:"open_alerts"`
	Stops []struct {
		Name   string `json:"name"`
		Reason string `json:"reason"`
	} `json:"payments_stopped_by"`
	OpenFindings int64     `json:"open_findings"`
	Findings     []finding `json:"last_findings"`
}

// NewStatus makes the command that shows the state of the service.
func NewStatus() *cobra.Command {
	var t remote.Target
	cmd := remote.Ask[wholeStatus]{
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
func showStatus(cmd *cobra.Command, s wholeStatus) error {
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
func countsText[S ~string](states []S, counts map[S]int64) string {
	var parts []string
	for _, state := range states {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", state, n))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

func queueRows(s wholeStatus) [][]string {
	rows := [][]string{{"QUEUE", "KIND", "WAIT", "OLDEST", "WORKERS"}}
	for _, q := range s.Queues {
		rows = append(rows, []string{
			q.Name, q.Kind, fmt.Sprint(q.Depth), terminal.Seconds(&q.OldestAge, "%s", ""), fmt.Sprint(q.Workers),
		})
	}
	return rows
}

func workerRows(s wholeStatus) [][]string {
	rows := [][]string{{"PROCESS", "VERSION", "HEARD", "IN FLIGHT", "QUEUES"}}
	for _, w := range s.Workers {
		inFlight := "?"
		if w.Carries != nil {
			inFlight = fmt.Sprint(*w.Carries)
		}
		rows = append(rows, []string{
			terminal.Shorten(w.Identity, 21), terminal.Shorten(cmp.Or(w.Build, w.Version, "?"), 10),
			terminal.Seconds(&w.LastHeard, "%s ago", ""), inFlight, strings.Join(w.Queues, " "),
		})
	}
	return rows
}

func systemRows(s wholeStatus) [][]string {
	rows := [][]string{{"SYSTEM", "ANSWERS", "LAST SUCCESS", "LAST ERROR"}}
	for _, o := range s.Outside {
		answers := "yes"
		if !o.Answers {
			answers = "no" + terminal.Seconds(o.FailingFor, ", for %s", "")
		}
		rows = append(rows, []string{o.Name, answers, terminal.Seconds(o.SuccessAge, "%s ago", "never"), o.Error})
	}
	return rows
}

func limitRows(s wholeStatus) [][]string {
	rows := [][]string{{"USER ABOVE LIMIT", "LIMIT", "HAS", "MAY HAVE"}}
	for _, a := range s.AboveLimits {
		rows = append(rows, []string{a.UserID, a.Limit, fmt.Sprint(a.Count), fmt.Sprint(a.Maximum)})
	}
	return rows
}

func errorRows(s wholeStatus) [][]string {
	rows := [][]string{{"ERROR", "WORKLOAD", "TIMES"}}
	for _, e := range s.Errors {
		rows = append(rows, []string{terminal.Shorten(e.Code, 44), e.Workload, fmt.Sprint(e.Count)})
	}
	return rows
}

func findingRows(s wholeStatus) [][]string {
	rows := [][]string{{"FOUND", "WORKLOAD", "ENTITY", "FINDING", "DONE"}}
	for _, f := range s.Findings {
		rows = append(rows, f.row())
	}
	return rows
}

func qbittorrentText(s wholeStatus) string {
	q := s.QBittorrent
	switch {
	case q == nil:
		return "downloads are off"
	case q.Answers:
		return terminal.Seconds(q.AnswerAge, "answers, %s ago", "answers")
	default:
		return strings.TrimSpace("does not answer "+q.Error) + terminal.Seconds(q.AnswerAge, ", last %s ago", "")
	}
}

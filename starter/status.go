package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/internal/store"
)

// wholeStatus is how the service is doing, as the API shows it. Times are seconds.
type wholeStatus struct {
	QueueDepth          int64                    `json:"queue_depth"`
	JobsInState         map[store.JobState]int64 `json:"jobs_in_state"`
	WorkerHeartbeatAge  *float64                 `json:"worker_heartbeat_age_seconds"`
	OAuthTokenExpiresIn *float64                 `json:"oauth_token_expires_in_seconds"`
	TopErrors           []struct {
		Code  string `json:"code"`
		Count int64  `json:"count"`
	} `json:"top_errors"`
	StuckJobs []string `json:"stuck_jobs"`

	DownloadsInStatus map[store.DownloadStatus]int64 `json:"downloads_in_status"`
	QBittorrent       *struct {
		Answers   bool     `json:"answers"`
		AnswerAge *float64 `json:"last_answer_age_seconds"`
		Error     string   `json:"error"`
	} `json:"qbittorrent"` // nil: downloads are off
}

func newStatus() *cobra.Command {
	var t target
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "How the service is doing (for administrators)",
		Args:  between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := t.asAdmin()
			if err != nil {
				return err
			}
			answer, err := c.get(cmd.Context(), "/v1/status", nil)
			if err != nil {
				return err
			}
			if asJSON {
				return verbatim(cmd.OutOrStdout(), answer)
			}
			s, err := decode[wholeStatus](answer)
			if err != nil {
				return err
			}
			return showStatus(cmd, s)
		},
	}
	t.addFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the API's answer")
	return cmd
}

func showStatus(cmd *cobra.Command, s wholeStatus) error {
	rows := [][]string{
		{"wait for a worker", fmt.Sprint(s.QueueDepth)},
		{"last sign of a worker", secondsText(s.WorkerHeartbeatAge, "%s ago", "none")},
		{"storage token", secondsText(s.OAuthTokenExpiresIn, "ends in %s", "no end known")},
		{"qBittorrent", qbittorrentText(s)},
	}
	for _, state := range store.JobStates {
		rows = append(rows, []string{"deliveries " + string(state), fmt.Sprint(s.JobsInState[state])})
	}
	for _, status := range store.DownloadStatuses {
		rows = append(rows, []string{"downloads " + string(status), fmt.Sprint(s.DownloadsInStatus[status])})
	}
	for _, e := range s.TopErrors {
		rows = append(rows, []string{"failed by " + e.Code, fmt.Sprint(e.Count)})
	}
	stuck := "none"
	if len(s.StuckJobs) > 0 {
		stuck = strings.Join(s.StuckJobs, ", ")
	}
	return table(cmd.OutOrStdout(), append(rows, []string{"stuck", stuck}))
}

func qbittorrentText(s wholeStatus) string {
	q := s.QBittorrent
	switch {
	case q == nil:
		return "downloads are off"
	case q.Answers:
		return secondsText(q.AnswerAge, "answers, %s ago", "answers")
	default:
		return strings.TrimSpace("does not answer "+q.Error) + secondsText(q.AnswerAge, ", last %s ago", "")
	}
}

func secondsText(seconds *float64, format, none string) string {
	if seconds == nil {
		return none
	}
	return fmt.Sprintf(format, took(time.Duration(*seconds*float64(time.Second))))
}

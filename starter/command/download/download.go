package download

import (
	"fmt"
	"net/url"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/starter/terminal"
)

// pollInterval is how often a command that waits for a download reads it: the download may take hours.
const pollInterval = time.Second

// Download is a download job as the API shows it.
type Download struct {
	ID              string                  `json:"id"`
	BookID          string                  `json:"book_id"`
	BookTitle       string                  `json:"book_title"`
	MediaType       string                  `json:"media_type"`
	Status          lifecycle.DownloadState `json:"status"`
	Source          string                  `json:"source"`
	SourceURL       string                  `json:"source_url"`
	ExternalJobID   string                  `json:"external_job_id"` // empty: qBittorrent has not shown it yet
	Progress        float64                 `json:"progress"`        // 0 … 1
	Size            int64                   `json:"size"`            // bytes; 0: unknown
	Speed           float64                 `json:"speed"`           // bytes per second
	ETASeconds      *int64                  `json:"eta_seconds"`     // nil: unknown
	FailureReason   string                  `json:"failure_reason"`
	LastError       string                  `json:"last_error"`
	Attention       string                  `json:"attention"`
	CancelRequested bool                    `json:"cancel_requested"`
	Actions         []string                `json:"allowed_actions"`
	WorkflowID      string                  `json:"workflow_id"`
	CreatedAt       time.Time               `json:"created_at_utc"`
	UpdatedAt       time.Time               `json:"updated_at_utc"`
	CompletedAt     time.Time               `json:"completed_at_utc"`       // zero: not completed
	FirstNotFoundAt time.Time               `json:"first_not_found_at_utc"` // zero: qBittorrent has it
}

func Path(id string) string { return "/v1/downloads/" + url.PathEscape(id) }

func (d Download) Ended() bool {
	switch d.Status {
	case lifecycle.DownloadCompleted, lifecycle.DownloadFailed, lifecycle.DownloadCanceled:
		return true
	default:
		return false
	}
}

func (d Download) Stage() string { return string(d.Status) }

// what names the book and the medium.
func (d Download) what() string {
	title := d.BookTitle
	if title == "" {
		title = "book " + d.BookID
	}
	return terminal.Printable(title) + ", " + terminal.Printable(d.MediaType)
}

func (d Download) ChangeLine() string {
	line := fmt.Sprintf("download %s  %-11s  %s", d.ID, d.Status, d.what())
	switch {
	case d.Status == lifecycle.DownloadCompleted:
		line += fmt.Sprintf(", %s in %s", terminal.BytesText(d.Size), terminal.Took(d.CompletedAt.Sub(d.CreatedAt)))
	case d.FailureReason != "":
		line += ": " + terminal.Printable(d.why())
	}
	return line
}

// why gives the reason of a failure, with the error that caused it.
func (d Download) why() string {
	if d.LastError == "" || d.LastError == d.FailureReason {
		return d.FailureReason
	}
	return d.FailureReason + " (" + d.LastError + ")"
}

// ProgressLine shows the progress of a download in a line that fits the width of a screen.
func (d Download) ProgressLine() string {
	const nameWidth = 16
	line := fmt.Sprintf("  %-*s  ", nameWidth, terminal.Shorten(d.what(), nameWidth))
	switch {
	case d.CancelRequested:
		return line + "is being cancelled"
	case !d.FirstNotFoundAt.IsZero():
		return line + "qBittorrent does not have it now: it is looked for again"
	case d.Status == lifecycle.DownloadQueued && d.LastError != "":
		return line + "waits: " + terminal.Printable(d.LastError)
	case d.Status == lifecycle.DownloadQueued:
		return line + "waits for qBittorrent"
	}

	line += fmt.Sprintf("%s %5s", terminal.Bar(d.Progress), percent(d.Progress))
	switch {
	case d.Attention != "":
		line += "  " + terminal.Printable(d.Attention)
	case d.Speed > 0:
		line += "  " + d.pace()
	}

	return line
}

// pace gives the speed and, when it is known, the time that is left.
func (d Download) pace() string {
	text := fmt.Sprintf("%.1f MB/s", d.Speed/1e6)
	if d.ETASeconds != nil {
		text += ", " + terminal.Took(time.Duration(*d.ETASeconds)*time.Second) + " left"
	}
	return text
}

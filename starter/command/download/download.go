package download

import (
	"fmt"
	"strings"
	"time"

	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/terminal"
)

// pollInterval is how often a command that waits for a download reads it: the download may take hours.
const pollInterval = time.Second

// what names the book and the medium.
func what(d shape.Download) string {
	title := d.BookTitle
	if title == "" {
		title = "book " + d.BookID
	}
	return terminal.Printable(title) + ", " + terminal.Printable(d.MediaType)
}

// ChangeLine is a log line about the status of a download.
func ChangeLine(d shape.Download) string {
	line := fmt.Sprintf("download %s  %-11s  %s", d.ID, d.Status, what(d))
	switch {
	case d.Status == lifecycle.DownloadCompleted:
		line += fmt.Sprintf(
			", %s in %s", terminal.BytesText(d.Size), terminal.Took(shape.Value(d.CompletedAt).Sub(d.CreatedAt)),
		)
	case d.FailureReason != nil:
		line += ": " + terminal.Printable(why(d))
	}
	return line
}

// why returns the reason of a failure, with the error that caused it.
func why(d shape.Download) string {
	cause := shape.Value(d.LastError)
	if category := shape.Value(d.OtherCategory); category != "" {
		cause += ": it is in the category " + category
	}
	return because(shape.Value(d.FailureReason), cause)
}

// because is a code with the one that caused it.
func because(reason, cause string) string {
	if cause == "" || cause == reason {
		return reason
	}
	return reason + " (" + cause + ")"
}

// ProgressLine shows the progress of a download in a line that fits the width of a screen.
func ProgressLine(d shape.Download) string {
	const nameWidth = 16
	line := fmt.Sprintf("  %-*s  ", nameWidth, terminal.Shorten(what(d), nameWidth))
	switch {
	case d.CancelRequested:
		return line + "is being cancelled"
	case d.FirstNotFoundAt != nil:
		return line + "not in qBittorrent now: checking again"
	case d.LastError != nil && (d.Status == lifecycle.DownloadQueued || d.Attention == nil):
		return line + "waits: " + terminal.Printable(*d.LastError)
	case d.Status == lifecycle.DownloadQueued:
		return line + "waits for " + shape.Value(d.WaitsFor)
	}

	line += fmt.Sprintf("%s %5s", terminal.Bar(d.Progress), percent(d.Progress))
	if len(d.Sources) > 0 {
		line += fmt.Sprintf("  source %d of %d", d.SourcePlace, len(d.Sources))
	}
	if d.Attention != nil {
		return line + "  " + terminal.Printable(*d.Attention)
	}
	return strings.TrimRight(line+"  "+pace(d), " ")
}

// pace returns the speed and, if known, the remaining time; empty: no data is arriving.
func pace(d shape.Download) string {
	if d.Speed <= 0 {
		return ""
	}
	text := terminal.BytesText(d.Speed) + "/s"
	if d.ETASeconds != nil {
		text += ", " + terminal.Took(time.Duration(*d.ETASeconds)*time.Second) + " left"
	}
	return text
}

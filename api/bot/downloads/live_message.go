package downloads

import (
	"context"
	"slices"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

// drawDownload draws the live message of a download, with a Cancel button while it can be cancelled.
func (h *handlers) drawDownload(ctx context.Context, viewer account.User, id int64) (chat.View, error) {
	job, err := h.store.DownloadByID(ctx, id)
	if err != nil {
		return chat.View{}, err
	}

	language := viewer.Language
	lines := append([]string{title(language, job)}, progress(language, job)...)

	var cancel chat.Row
	if canCancel(viewer, job) {
		cancel = chat.Press(chat.LabelCancel.In(language), "dx", job.ID)
	}
	ended := lifecycle.Download.Terminal(job.State)
	return chat.View{Text: strings.Join(lines, "\n"), Rows: chat.Rows(cancel), Ended: ended}, nil
}

// title names a download, its book and its medium.
func title(language string, job download.Download) string {
	return textDownloadTitle.In(language, job.ID, bookOf(language, job), mediaNames[job.MediaType].In(language))
}

// bookOf names a download's book as HTML.
func bookOf(language string, job download.Download) string {
	if job.BookTitle == "" {
		return textGoneBook.In(language, job.BookID)
	}
	return chat.ShortHTML(job.BookTitle, titleLength)
}

// progress tells in a few lines how far a download is, or how it ended.
func progress(language string, job download.Download) (lines []string) {
	switch job.State {
	case lifecycle.DownloadQueued:
		lines = waiting(language, job)
	case lifecycle.DownloadDownloading:
		lines = downloading(language, job)
	case lifecycle.DownloadCompleted:
		return append(lines, textDownloaded.In(language, chat.Size(language, job.Size)))
	case lifecycle.DownloadFailed:
		return append(lines, textDownloadFailed.In(language), whyFailed(language, job))
	case lifecycle.DownloadCanceled:
		return append(lines, chat.TextCancelled.In(language))
	}

	switch {
	case job.CancelRequestedAt != nil:
		lines = append(lines, chat.TextCancelling.In(language))
		if job.CancelError != "" {
			lines = append(lines, faults.Text(fault.Code(job.CancelError)).In(language))
		}
	case job.FirstNotFoundAt != nil:
		lines = append(lines, textTorrentMissing.In(language))
	case job.Attention != "":
		lines = append(lines, "⚠️ "+faults.Text(fault.Code(job.Attention)).In(language))
	}

	return lines
}

// waiting tells what a download that has not begun waits for.
func waiting(language string, job download.Download) []string {
	switch {
	case job.AddedAt != nil:
		return []string{textWaitsForPeers.In(language)}
	case job.LastError != "":
		return []string{chat.TextQueued.In(language), faults.Text(fault.Code(job.LastError)).In(language)}
	default:
		return []string{chat.TextQueued.In(language)}
	}
}

// downloading tells how far a download is, how fast it goes and how long it will take.
func downloading(language string, job download.Download) []string {
	percent := min(int(job.Progress*100), 100)
	if job.Size == 0 {
		return []string{textDownloadBegun.In(language)}
	}

	loaded, size := chat.Size(language, int64(job.Progress*float64(job.Size))), chat.Size(language, job.Size)
	amount := textDownloadAmount.In(language, percent, loaded, size)

	speed := textNoSpeed.In(language)
	if job.Speed > 0 {
		speed = textSpeed.In(language, chat.Size(language, job.Speed))
		if job.ETA != nil {
			speed += " · " + textTimeLeft.In(language, chat.Duration(language, *job.ETA))
		}
	}
	return []string{chat.Bar(percent), amount, speed}
}

// whyFailed gives the reason of a failure in plain words, with the detail for a download that could not be started.
func whyFailed(language string, job download.Download) string {
	reason := fault.Internal
	if job.FailureReason != nil {
		reason = fault.Code(*job.FailureReason)
	}
	said := faults.Text(reason).In(language)
	if reason == fault.EnqueueFailed && job.LastError != "" {
		said += " " + faults.Text(fault.Code(job.LastError)).In(language)
	}
	return said
}

// canCancel says whether a Cancel button makes sense: the rules allow it and nobody has pressed one yet.
func canCancel(user account.User, job download.Download) bool {
	return job.CancelRequestedAt == nil &&
		slices.Contains(service.DownloadActions(user, job), lifecycle.DownloadActionCancel)
}

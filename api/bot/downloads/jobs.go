package downloads

import (
	"context"
	"slices"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

const downloadsPerPage = 6

// showDownloads is /downloads, and the buttons of its pages: the person's own downloads, newest first.
func (h *handlers) showDownloads(ctx context.Context, r *chat.Request, args chat.Args) error {
	before := args.Offset(0)
	filter := download.Filter{UserID: r.User.ID, Before: before, Limit: downloadsPerPage + 1}
	jobs, err := h.downloads.List(ctx, r.User, filter)
	if err != nil {
		return err
	}

	list := chat.List[download.Download]{
		Prefix: "dl", Size: downloadsPerPage, Title: textDownloads, None: textNoDownloads, Refresh: true,
		ID: func(job download.Download) int64 { return job.ID },
		Draw: func(job download.Download) ([]string, chat.Row) {
			lines := append([]string{"", title(r.User.Language, job)}, progress(r.User.Language, job)...)
			buttons := importButton(r.User, job)
			return lines, append(buttons, cancelButton(r.User, job, r.Say(chat.LabelCancelID, job.ID))...)
		},
	}

	h.Show(ctx, r, list.View(r.User.Language, before, jobs))
	return nil
}

// drawDownload draws the live message of a download, with a button for each possible action.
func (h *handlers) drawDownload(ctx context.Context, viewer account.User, id int64) (chat.View, error) {
	job, err := h.downloads.Get(ctx, viewer, id)
	if err != nil {
		return chat.View{}, err
	}

	language := viewer.Language
	lines := append([]string{title(language, job)}, progress(language, job)...)
	cancel := cancelButton(viewer, job, chat.LabelCancel.In(language))
	ended := lifecycle.Download.Terminal(job.State)
	return chat.View{Text: strings.Join(lines, "\n"), Rows: chat.Rows(importButton(viewer, job), cancel), Ended: ended}, nil
}

// title names a download by its book and medium.
func title(language string, job download.Download) string {
	return textDownloadTitle.In(language, job.ID, bookOf(language, job), words.MediaNames[job.MediaType].In(language))
}

// bookOf names a download's book as HTML.
func bookOf(language string, job download.Download) string {
	if job.BookTitle == "" {
		return textGoneBook.In(language, job.BookID)
	}
	return chat.ShortHTML(job.BookTitle, titleLength)
}

// progress describes in a few lines how far a download is, or how it ended.
func progress(language string, job download.Download) (lines []string) {
	switch job.State {
	case lifecycle.DownloadQueued:
		lines = waiting(language, job)
	case lifecycle.DownloadDownloading:
		lines = downloading(language, job)
	case lifecycle.DownloadCompleted:
		if size := words.Size(language, job.Size); job.KeptApart() {
			lines = append(lines, textKeptApart.In(language, size), words.OtherCopy.In(language))
		} else {
			lines = append(lines, textDownloaded.In(language, size))
		}
		if job.LeftOut > 0 {
			lines = append(lines, words.LeftOut.In(language, job.LeftOut))
		}
		if job.Attention != "" {
			lines = append(lines, "⚠️ "+words.WhyNotSent(job.Attention).In(language))
		}
		return lines
	case lifecycle.DownloadFailed:
		return append(lines, textDownloadFailed.In(language), words.WhyDownloadFailed(language, job.FailureReason, job.LastError, chat.ShortHTML(job.OtherCategory, titleLength)))
	case lifecycle.DownloadCanceled:
		return append(lines, chat.TextCancelled.In(language))
	}

	if job.Send {
		lines = append(lines, textWillBeSent.In(language))
	}
	if len(job.Sources) > 0 {
		lines = append(lines, words.SourceOf.In(language, job.SourcePlace, len(job.Sources)))
	}
	switch {
	case job.CancelRequestedAt != nil:
		lines = append(lines, chat.TextCancelling.In(language))
		if job.CancelError != "" {
			lines = append(lines, words.Downloads.Faults.Text(fault.Code(job.CancelError)).In(language))
		}
	case job.FirstNotFoundAt != nil:
		lines = append(lines, words.TorrentMissing.In(language))
	case job.Attention != "":
		lines = append(lines, "⚠️ "+words.WhyDownloadNeedsLook(language, job.Attention, job.LastError))
	}

	return lines
}

// waiting says what a download waits for before it begins.
func waiting(language string, job download.Download) []string {
	switch {
	case job.NoMetadata && job.LastError == "":
		return []string{words.WaitsForMetadata.In(language)}
	case job.LastError != "":
		return []string{chat.TextQueued.In(language), words.Downloads.Faults.Text(fault.Code(job.LastError)).In(language)}
	default:
		return []string{chat.TextQueued.In(language)}
	}
}

// downloading describes progress, speed and remaining time of a download.
func downloading(language string, job download.Download) []string {
	percent := min(int(job.Progress*100), 100)
	if job.Size == 0 {
		return []string{textDownloadBegun.In(language)}
	}

	loaded, size := words.Size(language, int64(job.Progress*float64(job.Size))), words.Size(language, job.Size)
	amount := textDownloadAmount.In(language, percent, loaded, size)

	speed := words.NoSpeed.In(language)
	if job.Speed > 0 {
		speed = words.DownloadSpeed.In(language, words.Size(language, job.Speed))
		if job.ETA != nil {
			speed += " · " + words.TimeLeft.In(language, words.Duration(language, *job.ETA))
		}
	}

	return []string{chat.Bar(percent), amount, speed}
}

// cancelButton is the button that cancels a download; none when it cannot be canceled or its cancellation is already
// requested.
func cancelButton(user account.User, job download.Download, label string) chat.Row {
	actions := downloads.Actions(user, job)
	if job.CancelRequestedAt != nil || !slices.Contains(actions, lifecycle.DownloadActionCancel) {
		return nil
	}
	return chat.Press(label, "dx", job.ID)
}

// importButton is the button that retries a failed import; none when there is nothing to retry.
func importButton(user account.User, job download.Download) chat.Row {
	if !slices.Contains(downloads.Actions(user, job), lifecycle.DownloadActionRetryImport) {
		return nil
	}
	return chat.Press(chat.LabelTryAgain.In(user.Language), "di", job.ID)
}

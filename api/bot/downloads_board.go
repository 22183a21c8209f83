package bot

import (
	"context"
	"html"
	"slices"
	"strings"

	"github.com/mymmrac/telego"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

// downloadLooks is how many pauses between edits pass between two looks at a download: its progress comes by the poll,
// and it may take days.
const downloadLooks = 4

// downloadLiveMessage shows download jobs.
func (b *Bot) downloadLiveMessage() liveMessageKind {
	return liveMessageKind{
		draw: func(ctx context.Context, viewer store.User, id int64) (face, error) {
			job, err := b.store.DownloadByID(ctx, id)
			return downloadFace(viewer, job), err
		},
		ended: func(status string) bool { return lifecycle.Download.Terminal(lifecycle.DownloadState(status)) },
		every: downloadLooks * b.editEvery,
	}
}

// downloadFace is what a download's message shows.
func downloadFace(viewer store.User, job store.Download) face {
	language := viewer.Language
	text := textDownloadTitle.in(language, job.ID, bookOf(language, job), mediaNames[job.MediaType].in(language)) + "\n" +
		strings.Join(downloadStanding(language, job), "\n")
	if lifecycle.Download.Terminal(job.State) {
		return face{view: view{text: text}, ended: true}
	}

	var stop []telego.InlineKeyboardButton
	if canCancel(viewer, job) {
		stop = press(labelStop.in(language), "dx", job.ID)
	}
	return face{view: view{text: text, rows: rows(stop)}}
}

// bookOf names a download's book as HTML.
func bookOf(language string, job store.Download) string {
	if job.BookTitle == "" {
		return textGoneBook.in(language, job.BookID)
	}
	return html.EscapeString(shorten(clean(job.BookTitle), titleLength))
}

// downloadStanding tells in a few lines how a download is getting on, or how it ended.
func downloadStanding(language string, job store.Download) (lines []string) {
	switch job.State {
	case lifecycle.DownloadQueued:
		lines = waiting(language, job)
	case lifecycle.DownloadDownloading:
		lines = downloading(language, job)
	case lifecycle.DownloadCompleted:
		return append(lines, textDownloaded.in(language, sizeIn(language, job.Size)))
	case lifecycle.DownloadFailed:
		return append(lines, textDownloadFailed.in(language), whyFailed(language, job))
	case lifecycle.DownloadCanceled:
		return append(lines, textDownloadCanceled.in(language))
	}

	switch {
	case job.CancelRequestedAt != nil:
		lines = append(lines, textStoppingNow.in(language))
		if job.CancelError != "" {
			lines = append(lines, faultText(fault.Code(job.CancelError)).in(language))
		}
	case job.FirstNotFoundAt != nil:
		lines = append(lines, textTorrentMissing.in(language))
	case job.Attention != "":
		lines = append(lines, "⚠️ "+faultText(fault.Code(job.Attention)).in(language))
	}

	return lines
}

// waiting tells what a download that has not begun waits for.
func waiting(language string, job store.Download) []string {
	switch {
	case job.AddedAt != nil:
		return []string{textWaitsForPeers.in(language)}
	case job.LastError != "":
		return []string{textQueued.in(language), faultText(fault.Code(job.LastError)).in(language)}
	default:
		return []string{textQueued.in(language)}
	}
}

// downloading tells how far a download is, how fast it goes and how long it will take.
func downloading(language string, job store.Download) []string {
	percent := min(int(job.Progress*100), 100)
	if job.Size == 0 {
		return []string{textDownloadBegun.in(language)}
	}

	amount := textDownloadAmount.in(
		language, percent, sizeIn(language, int64(job.Progress*float64(job.Size))), sizeIn(language, job.Size),
	)

	speed := textNoSpeed.in(language)
	if job.Speed > 0 {
		speed = textSpeed.in(language, sizeIn(language, job.Speed))
		if job.ETA != nil {
			speed += " · " + textTimeLeft.in(language, durationIn(language, *job.ETA))
		}
	}

	return []string{bar(percent), amount, speed}
}

// whyFailed gives the reason of a failure in plain words: why it could not be begun is known in more detail.
func whyFailed(language string, job store.Download) string {
	reason := fault.Internal
	if job.FailureReason != nil {
		reason = fault.Code(*job.FailureReason)
	}
	said := faultText(reason).in(language)
	if reason == fault.EnqueueFailed && job.LastError != "" {
		said += " " + faultText(fault.Code(job.LastError)).in(language)
	}
	return said
}

// canCancel says whether a Cancel button makes sense: the rules allow it and nobody has pressed one yet.
func canCancel(user store.User, job store.Download) bool {
	return job.CancelRequestedAt == nil && slices.Contains(
		service.DownloadActions(user, job), lifecycle.DownloadActionCancel,
	)
}

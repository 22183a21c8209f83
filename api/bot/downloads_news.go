package bot

import (
	"context"

	"github.com/mymmrac/telego"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// downloadNews tells of downloads: that one has ended, or stands still.
func (b *Bot) downloadNews(ctx context.Context, viewer store.User, n store.Notice) (drawNews, error) {
	id, _ := readNumber(n.EntityID)
	job, err := b.downloads.Get(ctx, viewer, id)
	return func(_ context.Context, _ store.Notice, events []store.StreamedEvent) view {
		return downloadNewsView(viewer, job, events[len(events)-1]) // what came before is of no matter any more
	}, err
}

// downloadNewsView draws an event of a download.
func downloadNewsView(viewer store.User, job store.Download, event store.StreamedEvent) view {
	language := viewer.Language
	said, why := textNewsStalled, faultText(fault.Stalled).in(language)
	var next []telego.InlineKeyboardButton
	switch lifecycle.DownloadState(event.To) {
	case lifecycle.DownloadCompleted:
		said, why = textNewsDownloaded, sizeIn(language, job.Size)
		next = press(labelOpenBook.in(language), "bk", job.BookID)
	case lifecycle.DownloadFailed:
		said, why = textNewsFailed, whyFailed(language, job)
		next = press(labelTryAgain.in(language), "dr", job.ID)
	case lifecycle.DownloadCanceled:
		said, why = textNewsCanceled, whyCanceled(event).in(language)
		next = press(labelTryAgain.in(language), "dr", job.ID)
	default:
		if canCancel(viewer, job) {
			next = press(labelStop.in(language), "dx", job.ID)
		}
	}

	return view{
		text: said.in(language, bookOf(language, job), mediaNames[job.MediaType].in(language)) + "\n" + why,
		rows: rows(next),
	}
}

// whyCanceled tells who ended a download that its owner did not end, or why the service did.
func whyCanceled(event store.StreamedEvent) text {
	switch code := fault.Code(event.Comment); {
	case event.ActorID != nil:
		return textByAdmin
	case code == fault.CancelledByUser || code == "":
		return faultText(fault.TerminatedByOperator)
	default:
		return faultText(code)
	}
}

package downloads

import (
	"context"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
)

// findNotice finds the download of a notification: it has ended, or needs somebody's attention.
func (h *handlers) findNotice(ctx context.Context, viewer account.User, n notice.Notice) (chat.DrawNotice, error) {
	id, _ := chat.ReadNumber(n.EntityID)
	job, err := h.downloads.Get(ctx, viewer, id)
	return func(_ context.Context, _ notice.Notice, events []core.StreamedEvent) chat.View {
		return h.noticeView(viewer, job, events[len(events)-1]) // earlier events are outdated
	}, err
}

// noticeView draws an event of a download.
func (h *handlers) noticeView(viewer account.User, job download.Download, event core.StreamedEvent) chat.View {
	language := viewer.Language
	said, why := textNoticeStalled, words.Downloads.Faults.Text(fault.Stalled).In(language)
	var repeat, next chat.Row
	switch state := lifecycle.DownloadState(event.To); {
	case event.Type == lifecycle.DownloadNotSent:
		said, why = textNoticeNotSent, words.WhyNotSent(job.Attention).In(language)
		next = h.sendButton(language, job)
	case state == lifecycle.DownloadCompleted:
		said, why = textNoticeDownloaded, words.Size(language, job.Size)
		if job.KeptApart() {
			said, why = textNoticeKeptApart, why+"\n"+words.OtherCopy.In(language)
		}
		if job.LeftOut > 0 {
			why += "\n" + words.LeftOut.In(language, job.LeftOut)
		}
		next = append(chat.Press(labelOpenBook.In(language), "bk", job.BookID), h.sendButton(language, job)...)
	case state == lifecycle.DownloadFailed:
		said, why = textNoticeFailed, words.WhyDownloadFailed(language, job.FailureReason, job.LastError, chat.ShortHTML(job.OtherCategory, titleLength))
		next = chat.Press(chat.LabelTryAgain.In(language), "dr", job.ID)
	case state == lifecycle.DownloadCanceled:
		said, why = textNoticeCanceled, whyCanceled(event).In(language)
		next = chat.Press(chat.LabelTryAgain.In(language), "dr", job.ID)
	default:
		switch event.Type {
		case lifecycle.DownloadStopped:
			why = words.Downloads.Faults.Text(fault.TorrentStopped).In(language)
		case lifecycle.DownloadImportFailed:
			said, why = textNoticeNotPut, words.WhyDownloadNeedsLook(language, string(fault.ImportFailed), job.LastError)
		}
		repeat, next = importButton(viewer, job), cancelButton(viewer, job, chat.LabelCancel.In(language))
	}

	what := said.In(language, bookOf(language, job), words.MediaNames[job.MediaType].In(language))
	return chat.View{Text: what + "\n" + why, Rows: chat.Rows(repeat, next)}
}

// whyCanceled says who canceled a download when it was not its owner, or why the service did.
func whyCanceled(event core.StreamedEvent) words.Text {
	switch code := fault.Code(event.Comment); {
	case event.ActorID != nil:
		return textByAdmin
	case code == fault.CancelledByUser || code == "":
		return words.Downloads.Faults.Text(fault.TerminatedByOperator)
	default:
		return words.Downloads.Faults.Text(code)
	}
}

// Package downloads is the bot's part for downloads: people browse the library, have books downloaded into it by links,
// follow and cancel their downloads, and are notified of the end.
package downloads

import (
	"context"
	"strconv"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/service"
)

type handlers struct {
	*chat.Sender
	downloads *service.Downloads
}

// New returns the commands, buttons, live messages and notices of downloads. Plain words answer what the menu asks
// about a download, or begin one with a link.
func New(sender *chat.Sender, downloads *service.Downloads) chat.Part {
	h := &handlers{sender, downloads}

	return chat.Part{
		Commands: []chat.Command{
			{Name: "download", About: words.Text{"download a book: /download 7 magnet:… — add “audio” for an audiobook", "скачать книгу: /download 7 magnet:… — добавьте «аудио» для аудиокниги"}, Run: h.askDownload},
			{Name: "find", About: words.Text{"find a book and download it: /find Title — add “audio” for an audiobook", "найти книгу и скачать: /find Название — добавьте «аудио» для аудиокниги"}, Run: h.find},
			{Name: "downloads", About: words.Text{"your downloads", "ваши загрузки"}, Run: h.showDownloads},
			{Name: "books", About: words.Text{"the library; with words: search it", "библиотека; со словами — поиск в ней"}, Run: h.books},
			{Name: "book", About: words.Text{"a book: /book 7; a new one: /book new Title / Author", "книга: /book 7; новая: /book new Название / Автор"}, Run: h.book},
		},
		Buttons: []chat.Button{
			{Prefix: "dl", Command: "downloads", Run: h.showDownloads},  // dl:<ids below this one; 0: the newest>
			{Prefix: "dx", Command: "downloads", Run: h.cancelDownload}, // dx:<download>
			{Prefix: "di", Command: "downloads", Run: h.retryImport},    // di:<download>
			{Prefix: "dr", Command: "download", Run: h.retryDownload},   // dr:<download>
			{Prefix: "ds", Command: "download", Run: h.sendDownload},    // ds:<download>
			{Prefix: "bs", Command: "book", Run: h.sendMedium},          // bs:<book>:<medium>:<nonce>
			{Prefix: "dm", Command: "download", Run: h.chooseMedium},    // dm:<book>:<medium>
			{Prefix: "fr", Command: "find", Run: h.pickRelease},         // fr:<list>:<place in it>
			{Prefix: "fm", Command: "find", Run: h.findMedium},          // fm:<medium>
			{Prefix: "fb", Command: "find", Run: h.findForBook},         // fb:<book>:<medium>
			{Prefix: "bk", Command: "books", Run: h.chooseBook},         // bk:<book>
			{Prefix: "bp", Command: "books", Run: h.turnBooks},          // bp:<ids below this one; 0: the newest>; bp: all
			{Prefix: "bn", Command: "book", Run: h.addBook},             // bn
		},
		Words: []chat.Words{{Command: "download", Match: aboutADownload, Run: h.takeWords}},
		LiveMessages: map[string]chat.LiveMessage{
			lifecycle.WorkloadDownload: {
				Draw:  h.drawDownload,
				Ended: func(state string) bool { return lifecycle.Download.Terminal(lifecycle.DownloadState(state)) },
				// Progress is as new as the last poll, and a download may take days.
				EveryEdits: 4,
			},
		},
		Notices: map[string]chat.FindNotice{lifecycle.WorkloadDownload: h.findNotice},
		Status:  map[string]chat.Status{lifecycle.WorkloadDownload: {Heading: textHeading, Lines: statusLines}},
		Texts:   words.Downloads,
	}
}

// cancelDownload is the Cancel button, on a download's own message, on its notice, or in the list, which is the menu
// and is drawn anew.
func (h *handlers) cancelDownload(ctx context.Context, r *chat.Request, args chat.Args) error {
	id := args.Number(0)
	job, err := h.downloads.Cancel(ctx, r.User, id, false)
	if job.ID != 0 && job.UserID != r.User.ID {
		r.Subject = lifecycle.WorkloadDownload + "/" + strconv.FormatInt(job.ID, 10)
	}
	if job.CancelRequestedAt != nil { // also when qBittorrent cannot be reached now
		h.Hurry(ctx, lifecycle.WorkloadDownload, id)
	}

	switch {
	case err == nil && job.State == lifecycle.DownloadCanceled:
		r.Note = r.Say(textCancelled, id)
	case err == nil:
		r.Note = r.Say(textCancelling, id)
	case job.CancelError != "" && !lifecycle.Download.Terminal(job.State): // the request stands
		r.Note, r.Alert = r.Say(textCancelWaits, id), true
	default:
		return err
	}

	if !r.OnMenu() {
		return nil
	}
	return h.showDownloads(ctx, r, nil)
}

// retryImport is the button to repeat a failed import, in the same places as the Cancel button.
func (h *handlers) retryImport(ctx context.Context, r *chat.Request, args chat.Args) error {
	job, err := h.downloads.RetryImport(ctx, r.User, args.Number(0))
	if job.ID != 0 && job.UserID != r.User.ID {
		r.Subject = lifecycle.WorkloadDownload + "/" + strconv.FormatInt(job.ID, 10)
	}
	if err != nil {
		return err
	}

	h.Hurry(ctx, lifecycle.WorkloadDownload, job.ID)
	r.Note = r.Say(textImporting, job.ID)
	if !r.OnMenu() {
		return nil
	}
	return h.showDownloads(ctx, r, nil)
}

// statusLines say whether qBittorrent answers, where there is one.
func statusLines(language string, now status.Status) []string {
	q := now.QBittorrent
	switch {
	case q == nil:
		return nil
	case q.Answers:
		return []string{textAnswers.In(language)}
	}

	line := textNoAnswer.In(language, words.Ago(language, q.AnswerAge))
	if q.Error != "" {
		line += " (<code>" + q.Error + "</code>)"
	}
	return []string{line}
}

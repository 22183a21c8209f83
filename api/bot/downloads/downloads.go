// Package downloads is the bot's part for downloads: people browse the library, download books into it by link, follow
// and cancel their downloads, and are notified when they end.
package downloads

import (
	"context"
	"strconv"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/service/downloads"
)

type handlers struct {
	*chat.Sender
	downloads *downloads.Service
}

// New returns the commands, buttons, live messages and notifications of downloads. Plain words answer the menu's
// question about a download, or start one with a link.
func New(sender *chat.Sender, downloads *downloads.Service) chat.Part {
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
			{Prefix: "dl", Command: "downloads", Run: h.showDownloads},  // dl:<ids below this one; 0: newest>
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
			{Prefix: "bp", Command: "books", Run: h.turnBooks},          // bp:<ids below this one; 0: newest>; bp: all
			{Prefix: "bn", Command: "book", Run: h.addBook},             // bn
		},
		Words: []chat.Words{{Command: "download", Match: aboutADownload, Run: h.takeWords}},
		LiveMessages: map[string]chat.LiveMessage{
			lifecycle.WorkloadDownload: {
				Draw:  h.drawDownload,
				Ended: func(state string) bool { return lifecycle.Download.Terminal(lifecycle.DownloadState(state)) },
				// Progress is only as fresh as the last poll, and a download may take days.
				EveryEdits: 4,
			},
		},
		Notices: map[string]chat.FindNotice{lifecycle.WorkloadDownload: h.findNotice},
		Status:  map[string]chat.Status{lifecycle.WorkloadDownload: {Heading: textHeading, Lines: statusLines}},
		Texts:   words.Downloads,
	}
}

// cancelDownload is the Cancel button, on a download's own message, on its notification, or in the list, which is the
// menu and is redrawn.
func (h *handlers) cancelDownload(ctx context.Context, r *chat.Request, args chat.Args) error {
	id := args.Number(0)
	job, err := h.downloads.Cancel(ctx, r.User, id, false, "")
	if job.ID != 0 && job.UserID != r.User.ID {
		r.Subject = lifecycle.WorkloadDownload + "/" + strconv.FormatInt(job.ID, 10)
	}
	if job.CancelRequestedAt != nil { // even if qBittorrent is unreachable
		h.Hurry(ctx, lifecycle.WorkloadDownload, id)
	}

	switch {
	case err == nil:
		r.Note = r.Say(textCancelled, id)
	case job.CancelError != "" && !lifecycle.Download.Terminal(job.State): // the request stays in force
		r.Note, r.Alert = r.Say(textCancelWaits, id), true
	case fault.CodeOf(err) == fault.ProviderUnavailable && job.CancelRequestedAt != nil:
		r.Note = r.Say(textCancelling, id)
	default:
		return err
	}

	if !r.OnMenu() {
		return nil
	}
	return h.showDownloads(ctx, r, nil)
}

// retryImport is the button that retries a failed import, in the same places as the Cancel button.
func (h *handlers) retryImport(ctx context.Context, r *chat.Request, args chat.Args) error {
	job, err := h.downloads.RetryImport(ctx, r.User, args.Number(0), "")
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

// statusLines reports whether qBittorrent answers, where it is configured.
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

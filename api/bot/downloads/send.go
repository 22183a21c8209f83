package downloads

import (
	"context"
	"strconv"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
)

// sendDownload is the button that sends a download's files: once, however often it is pressed.
func (h *handlers) sendDownload(ctx context.Context, r *chat.Request, args chat.Args) error {
	id := args.Number(0)
	jobs, err := h.downloads.Send(ctx, r.User, id, "bot/download/"+strconv.FormatInt(id, 10), delivery.SourceBot)
	r.Note = r.Say(textSending, len(jobs))
	return err
}

// sendMedium is the button on a book's card. Its nonce keeps a second press, or a redelivered update, from sending
// twice.
func (h *handlers) sendMedium(ctx context.Context, r *chat.Request, args chat.Args) error {
	if len(args) < 3 {
		return chat.Hint{Text: textStaleBook}
	}
	jobs, err := h.downloads.SendBook(ctx, r.User, args.Number(0), args[1], args[2], delivery.SourceBot)
	r.Note = r.Say(textSending, len(jobs))
	return err
}

// sendButton is the button that sends a download's files; none when nothing can be sent, or they are sent anyway.
func (h *handlers) sendButton(language string, job download.Download) chat.Row {
	if !h.downloads.Library || job.Send && job.Attention == "" {
		return nil
	}
	return chat.Press(labelSend.In(language), "ds", job.ID)
}

// sendButtons are the buttons that send the media of a book.
func (h *handlers) sendButtons(language string, book download.Book) (row chat.Row) {
	for _, m := range book.Media {
		if h.downloads.Library && m.Status == download.MediaAvailable && m.Files > 0 {
			label := labelSendMedium.In(language, words.MediaNames[m.MediaType].In(language))
			row = append(row, chat.Press(label, "bs", book.ID, m.MediaType, chat.Nonce())...)
		}
	}
	return row
}

package deliveries

import (
	"context"

	"stagecoach/api/bot/chat"
)

// askWords makes the menu ask for words; the next message is taken as such.
func (h *handlers) askWords(ctx context.Context, r *chat.Request, _ chat.Args) error {
	r.Conv.Asking = true
	h.Show(ctx, r, chat.View{
		Text: r.Say(textAskWords),
		Rows: chat.Rows(chat.Press(r.Say(chat.LabelBack), "f", r.Conv.FolderID, 0)),
	})
	return nil
}

// searchWords searches for what a person wrote. The menu shows what was found: in its place when it asked for the
// words, else in a new message below them.
func (h *handlers) searchWords(ctx context.Context, r *chat.Request, _ chat.Args) error {
	if r.Words == "" {
		return chat.Hint{Text: chat.TextOnlyWords}
	}
	if r.Conv.Asking {
		r.Message = r.Conv.MessageID
	}
	r.Conv.Query = chat.Query(r.Words)
	return h.showResults(ctx, r, 0)
}

func (h *handlers) openResults(ctx context.Context, r *chat.Request, args chat.Args) error {
	if r.Conv.Query == "" {
		return h.askWords(ctx, r, nil)
	}
	return h.showResults(ctx, r, int(args.Offset(0)))
}

func (h *handlers) showResults(ctx context.Context, r *chat.Request, page int) error {
	// One more than is shown tells whether there is another page.
	files, indexing, err := h.catalog.Search(ctx, r.Conv.Query, pageSize+1, page*pageSize)
	if err != nil {
		return err
	}
	r.Conv.Asking = false
	h.Show(ctx, r, resultsView(r.User.Language, r.Conv, files, page, indexing))
	return nil
}

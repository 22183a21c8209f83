package bot

import (
	"context"
	"strings"
)

// longestQuery is how many runes of a person's words are searched for: a name has 255 bytes at most.
const longestQuery = 60

// askWords makes the menu ask for words; the next message is taken as such.
func (b *Bot) askWords(ctx context.Context, r *request, _ []string) error {
	r.conv.Asking = true
	b.show(ctx, r, view{
		text: r.say(textAskWords),
		rows: rows(press(r.say(labelBack), "f", r.conv.FolderID, 0)),
	})
	return nil
}

// searchWords searches for what a person wrote. When the menu asked for it, the menu shows what was found; else the
// words came out of the blue, and the menu comes to where the person looks.
func (b *Bot) searchWords(ctx context.Context, r *request) error {
	if r.words == "" {
		return hint{text: textOnlyWords}
	}
	if r.conv.Asking {
		r.message = r.conv.MessageID
	}
	words := []rune(strings.Join(strings.Fields(r.words), " "))
	r.conv.Query = string(words[:min(longestQuery, len(words))])
	return b.showResults(ctx, r, 0)
}

func (b *Bot) openResults(ctx context.Context, r *request, args []string) error {
	if r.conv.Query == "" {
		return b.askWords(ctx, r, nil)
	}
	return b.showResults(ctx, r, int(max(number(args, 0), 0)))
}

func (b *Bot) showResults(ctx context.Context, r *request, page int) error {
	// One more than is shown tells whether there is another page.
	files, indexing, err := b.catalog.Search(ctx, r.conv.Query, pageSize+1, page*pageSize)
	if err != nil {
		return err
	}
	r.conv.Asking = false
	b.show(ctx, r, resultsView(r.user.Language, r.conv, files, page, indexing))
	return nil
}

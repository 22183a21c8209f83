package downloads

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/store/download"
	"stagecoach/internal/torznab"
)

// releasesShown is the length of a list of releases.
const releasesShown = 8

// find is /find <words> [medium]: it searches for releases, of the text by default.
func (h *handlers) find(ctx context.Context, r *chat.Request, _ chat.Args) error {
	said := strings.Fields(r.Args)
	medium := download.MediaText
	if last := len(said) - 1; last > 0 && mediumCalled(said[last]) != "" {
		medium, said = mediumCalled(said[last]), said[:last]
	}
	if len(said) == 0 {
		return chat.Hint{Text: textFindUsage}
	}
	return h.search(ctx, r, draft{Key: newKey(r), Words: strings.Join(said, " "), Medium: medium})
}

// findForBook is the button on a book's card that searches for releases of a medium.
func (h *handlers) findForBook(ctx context.Context, r *chat.Request, args chat.Args) error {
	if len(args) < 2 || !slices.Contains(download.MediaTypes, args[1]) {
		return chat.Hint{Text: textStaleBook}
	}
	book, err := h.downloads.Book(ctx, args.Number(0))
	if err != nil {
		return err
	}
	return h.search(ctx, r, draft{Key: newKey(r), Book: book.ID, Words: book.Title + " " + book.Author, Medium: args[1]})
}

// findMedium is the button on a list of releases that searches for the other medium.
func (h *handlers) findMedium(ctx context.Context, r *chat.Request, args chat.Args) error {
	d, asked := draftOf(r)
	if !asked || d.List == "" || len(args) == 0 || !slices.Contains(download.MediaTypes, args[0]) {
		return chat.Hint{Text: textStaleList}
	}
	d.Medium = args[0]
	return h.search(ctx, r, d)
}

// search searches for releases with a draft's words, and lists them. The conversation keeps the list: a button only
// holds an index into it.
func (h *handlers) search(ctx context.Context, r *chat.Request, d draft) (err error) {
	var found downloads.Found
	d.Words = shortened(d.Words)
	chat.PlaceOf(ctx).Yield(func() { found, err = h.downloads.Search(ctx, r.User, d.Words, d.Medium, d.Book) })
	switch fault.CodeOf(err) {
	case "":
	case fault.ProviderUnavailable:
		return chat.Hint{Text: words.SearchOff}
	case fault.Validation:
		return chat.Hint{Text: textFindUsage}
	}
	if err != nil {
		return err
	}

	d.List, d.Link, d.Sources, d.Proposed = chat.Nonce(), "", nil, ""
	d.Found = downloads.SourcesFrom(found.Releases[:min(len(found.Releases), releasesShown+download.MaxSources-1)])
	h.Show(ctx, r, releasesView(r.User.Language, d, found))
	return nil
}

// shortened cuts words to the maximum length of a search.
func shortened(said string) string {
	runes := []rune(chat.OneLine(said))
	return strings.TrimSpace(string(runes[:min(len(runes), torznab.MaxWords)]))
}

func releasesView(language string, d draft, found downloads.Found) chat.View {
	heading := chat.TextResults.In(language, chat.ShortHTML(d.Words, titleLength)) + " · " + words.MediaNames[d.Medium].In(language)
	lines := []string{heading}
	var rows []chat.Row
	for i, release := range found.Releases[:min(releasesShown, len(d.Found))] {
		facts := releaseFacts(language, release)
		lines = append(lines, "", fmt.Sprintf("<b>%d.</b> %s", i+1, chat.ShortHTML(release.Title, titleLength)), chat.HTML(facts))
		rows = append(rows, chat.Press(chat.Label(fmt.Sprintf("%d. %s", i+1, facts)), "fr", d.List, i))
	}

	switch {
	case len(rows) > 0:
		lines = append(lines, "", textChooseRelease.In(language))
	default:
		lines = append(lines, "", words.NoReleases.In(language))
	}
	for _, failed := range found.Failed {
		lines = append(lines, "⚠️ "+words.IndexerFailed.In(language, chat.HTML(failed.Indexer)))
	}

	for _, medium := range download.MediaTypes {
		if medium != d.Medium {
			rows = append(rows, chat.Press(labelFindMedium.In(language, words.MediaNames[medium].In(language)), "fm", medium))
		}
	}
	return chat.View{Text: strings.Join(lines, "\n"), Rows: chat.Rows(rows...), Ask: d.asked()}
}

// releaseFacts are the facts by which people choose a release.
func releaseFacts(language string, r downloads.Release) string {
	var facts []string
	if r.Size > 0 {
		facts = append(facts, words.Size(language, r.Size))
	}
	if r.Seeders != nil {
		facts = append(facts, textSeeders.In(language, *r.Seeders))
	}
	if !r.Published.IsZero() {
		facts = append(facts, textReleaseAge.In(language, max(0, int(time.Since(r.Published).Hours()/24))))
	}
	if r.FailedBefore {
		facts = append(facts, words.FailedBefore.In(language))
	}
	return strings.Join(append(facts, r.Indexer), " · ")
}

// pickRelease is the button of a release. The ones after it in the list are tried if it fails or stalls. If no book is
// chosen yet, the next question is which book the release is for.
func (h *handlers) pickRelease(ctx context.Context, r *chat.Request, args chat.Args) error {
	d, asked := draftOf(r)
	place := args.Number(1)
	if !asked || d.List == "" || len(args) < 2 || d.List != args[0] || place < 0 || place >= int64(len(d.Found)) {
		return chat.Hint{Text: textStaleList}
	}

	d.Sources = d.Found[place:min(len(d.Found), int(place)+download.MaxSources)]
	d.Link, d.Proposed = d.Sources[0].SourceURL, proposedBook(d.Sources[0].Title)
	d.Found, d.List = nil, ""
	return h.proceed(ctx, r, d)
}

var (
	// aside is what release titles add to book titles: bracketed parts, and formats.
	aside = regexp.MustCompile(`(?i)\([^)]*\)|\[[^]]*\]|\{[^}]*\}|\b(epub|fb2|pdf|mobi|azw3|djvu|mp3|m4b|flac|retail|unabridged|\d+ ?kbps)\b`)
	// namedBy is "<author> - <title>", and namedAfter "<title> by <author>".
	namedBy    = regexp.MustCompile(`^(.+?) [-–—] (.+)$`)
	namedAfter = regexp.MustCompile(`^(.+) by (\p{Lu}.+)$`)
)

// proposedBook returns "<title> / <author>" of a release's book, as far as the release's title has them.
func proposedBook(release string) string {
	if !strings.Contains(release, " ") {
		release = strings.NewReplacer(".", " ", "_", " ").Replace(release)
	}
	name := strings.Trim(chat.OneLine(aside.ReplaceAllString(release, " ")), " .,-–—/")
	if parts := namedBy.FindStringSubmatch(name); parts != nil {
		return parts[2] + " / " + parts[1]
	}
	return namedAfter.ReplaceAllString(name, "$1 / $2")
}

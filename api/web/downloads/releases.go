package downloads

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/download"
)

// mostReleases is how many releases a page shows. Its form contains their links.
const mostReleases = 30

type releasesView struct {
	Book       shape.Book
	Words      string // search words
	MediaType  string
	MediaTypes []string
	Off        bool // there are no indexers
	Items      []shape.Release
	Failed     []shape.IndexerFailure
	Sources    string // the releases as JSON, for the form
}

// showReleases searches for releases of a book, with the form's words.
func showReleases(r *site.Request) (site.View, error) {
	book, err := site.Get[shape.Book](r, "/v1/books/{id}")
	if err != nil {
		return site.View{}, err
	}

	view := releasesView{
		Book: book, Words: cmp.Or(r.Asked("q"), searchWords(book)), MediaType: cmp.Or(r.Asked("media_type"), download.MediaText),
		MediaTypes: download.MediaTypes,
	}
	query := url.Values{"q": {view.Words}, "media_type": {view.MediaType}, "book_id": {book.ID}}
	found, err := site.GetBy[shape.Releases](r, "/v1/releases", query)
	if refusal, refused := errors.AsType[*client.Refusal](err); refused && refusal.Code == fault.ProviderUnavailable {
		view.Off, err = true, nil
	}
	if err != nil {
		return site.View{}, err
	}

	view.Items, view.Failed = found.Items[:min(len(found.Items), mostReleases)], found.Failed
	sources, err := json.Marshal(shape.List(view.Items, shape.Release.Source))
	view.Sources = string(sources)
	return site.View{Title: book.Title, Data: view}, err
}

// searchWords are the words of a search for a book: title and author, up to the maximum length.
func searchWords(book shape.Book) string {
	runes := []rune(strings.TrimSpace(book.Title + " " + book.Author))
	return strings.TrimSpace(string(runes[:min(len(runes), mostWords)]))
}

// mostWords is how many characters a search takes.
const mostWords = 200

// startRelease requests a download of the picked release. Those after it in the list are its fallback sources.
func startRelease(r *site.Request) (next string, err error) {
	var sources []shape.Source
	pick, err := strconv.Atoi(r.PostFormValue("pick"))
	if json.Unmarshal([]byte(r.PostFormValue("sources")), &sources) != nil || err != nil || pick < 0 || pick >= len(sources) {
		return "", fault.Invalid("pick", "%s", texts["release-gone"].In(r.Language))
	}

	sources = sources[pick:min(len(sources), pick+download.MaxSources)]
	made, err := site.Post[shape.Download](r, "/v1/downloads", map[string]any{
		"book_id": r.PathValue("id"), "media_type": r.Asked("media_type"), "source": sources[0].Indexer,
		"source_url": sources[0].SourceURL, "sources": sources, "send": wishesSending(r),
	})
	return after(made, sources[0].SourceURL), err
}

// Package downloads has the pages of the library and of downloads.
package downloads

import (
	"cmp"
	"embed"
	"strings"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/download"
)

//go:embed templates
var templates embed.FS

// live are the workloads that change these pages. A book changes when one of its media is marked.
const live = lifecycle.WorkloadDownload + " book"

// Part returns the pages.
func Part() site.Part {
	return site.Part{
		Sections:  []site.Section{{Path: "/books", Title: "library"}, {Path: "/downloads", Title: "downloads"}},
		Templates: templates, Texts: texts, Words: words.Downloads,
		Commands: map[string]string{"books": "/books", "downloads": "/downloads"},
		States: map[string]map[string]words.Text{
			lifecycle.WorkloadDownload: site.Names(words.DownloadStates),
			"book":                     bookStates,
			"media":                    words.MediaNames,
			"indexer":                  indexerFailures,
			"medium":                   words.MediaStates,
			"download-event":           eventNames,
		},
		Pages: []site.Page{
			{
				Route: "/books", Name: "books", Title: "library", Live: live,
				Filter: site.Filter{Name: "state", Values: []string{download.BookLibrary, download.BookArchive}, States: "book"},
				Show:   site.Shows[shape.Page[shape.Book]]("/v1/books", "q", "state", "cursor"),
			},
			{Route: "/books/new", Name: "book-new", Title: "add-book", Show: showNewBook},
			{Route: "/books/{id}", Name: "book", Live: live, Show: showBook},
			{Route: "/books/{id}/releases", Name: "book-releases", Show: showReleases},
			{
				Route: "/downloads", Name: "downloads", Title: "downloads", Live: lifecycle.WorkloadDownload,
				Filter: site.Filter{Name: "state", Values: lifecycle.Download.StateNames(), States: lifecycle.WorkloadDownload},
				Show:   site.Lists(show, "/v1/downloads", "status=state", "cursor"),
			},
			{Route: "/downloads/{id}", Name: "download", Live: lifecycle.WorkloadDownload, Show: showDownload},
		},
		Actions: []site.Action{
			{Route: "/books/new", Page: "book-new", Do: site.Change("POST /v1/books", "/books/{made}", "title", "author")},
			{Route: "/books/{id}/change", Page: "book", Do: site.Change("PATCH /v1/books/{id}", "/books/{id}", "title", "author")},
			{Route: "/books/{id}/delete", Page: "book", Do: site.Change("DELETE /v1/books/{id}", "/books")},
			{Route: "/books/{id}/downloads", Page: "book", Do: start},
			{Route: "/books/{id}/releases", Page: "book-releases", Do: startRelease},
			{Route: "/downloads/{id}/cancel", Page: "download", Do: site.Change("POST /v1/downloads/{id}/cancel", "/downloads/{id}")},
			{Route: "/downloads/{id}/retry-import", Page: "download", Do: site.Change("POST /v1/downloads/{id}/retry-import", "/downloads/{id}")},
			{Route: "/downloads/{id}/send", Page: "download", Do: site.Change("POST /v1/downloads/{id}/send", "/deliveries")},
			{Route: "/books/{id}/{medium}/send", Page: "book", Do: site.Change("POST /v1/books/{id}/media/{medium}/send", "/deliveries")},
			{Route: "/downloads/{id}/again", Page: "download", Do: again},
		},
		Card: card,
	}
}

// shown is a download as a page shows it.
type shown struct {
	shape.Download
	Title           string   // of its book
	Percent, Loaded int64    // of the torrent, in hundredths and bytes
	Left            float64  // seconds; 0: unknown
	Notes           []string // what it waits for, and why it needs attention
	Why             string   // reason of a failure; empty: none
	Mine            bool
}

func show(r *site.Request, d shape.Download) shown {
	s := shown{
		Download: d, Title: cmp.Or(d.BookTitle, texts["gone-book"].In(r.Language, d.BookID)),
		Percent: int64(d.Progress * 100), Loaded: int64(d.Progress * float64(d.Size)),
		Left: float64(shape.Value(d.ETASeconds)), Mine: d.UserID == shape.ID(r.Who.User.ID),
	}

	if !d.Ended() {
		s.Notes = notes(r.Language, d)
	} else {
		s.Notes = endNotes(r.Language, d)
	}

	if d.FailureReason != nil {
		s.Why = words.WhyDownloadFailed(r.Language, d.FailureReason, shape.Value(d.LastError), shape.Value(d.OtherCategory))
	}
	return s
}

func showAll(r *site.Request, list []shape.Download) []shown {
	all := make([]shown, len(list))
	for i, d := range list {
		all[i] = show(r, d)
	}
	return all
}

// notes say what an active download waits for, and why it needs attention.
func notes(language string, d shape.Download) (said []string) {
	add := func(text words.Text) { said = append(said, text.Plain(language)) }
	switch {
	case d.LastError != nil && (d.Status == lifecycle.DownloadQueued || d.Attention == nil):
		add(words.Downloads.Faults.Text(fault.Code(*d.LastError)))
	case shape.Value(d.WaitsFor) == lifecycle.WaitsForMetadata:
		add(words.WaitsForMetadata)
	}

	if len(d.Sources) > 0 {
		said = append(said, words.SourceOf.In(language, d.SourcePlace, len(d.Sources)))
	}
	switch {
	case d.CancelRequested:
	case d.FirstNotFoundAt != nil:
		add(words.TorrentMissing)
	case d.Attention != nil:
		said = append(said, words.WhyDownloadNeedsLook(language, *d.Attention, shape.Value(d.LastError)))
	}

	return said
}

// endNotes say what a person should know about a download that has ended.
func endNotes(language string, d shape.Download) (said []string) {
	if d.KeptApart() {
		said = append(said, words.OtherCopy.Plain(language))
	}
	if d.LeftOut > 0 {
		said = append(said, words.LeftOut.Plain(language, d.LeftOut))
	}
	if d.Attention != nil {
		said = append(said, words.WhyNotSent(*d.Attention).Plain(language))
	}
	return said
}

type downloadView struct {
	shown
	OtherLink string // a hint that it existed before, with another link; empty: it did not
	Events    shape.Page[shape.History]
}

func showDownload(r *site.Request) (site.View, error) {
	var one shape.Download
	var view downloadView
	err := r.ReadAll(site.Into(&one, "/v1/downloads/{id}"), site.Into(&view.Events, "/v1/downloads/{id}/events"))
	if err != nil {
		return site.View{}, err
	}

	view.shown = show(r, one)
	if id, ok := shape.ParseID(one.ID); ok && r.Asked("note") == otherLink && !one.Ended() {
		view.OtherLink = words.OtherLink.In(r.Language, id)
	}
	return site.View{Title: view.Title, Data: view}, nil
}

// start requests a download for a book, and shows it.
func start(r *site.Request) (next string, err error) {
	link := strings.TrimSpace(r.PostFormValue("source_url"))
	made, err := site.Post[shape.Download](r, "/v1/downloads", map[string]any{
		"book_id": r.PathValue("id"), "media_type": r.PostFormValue("media_type"), "source_url": link, "send": wishesSending(r),
	})
	return after(made, link), err
}

// again requests a download once more.
func again(r *site.Request) (next string, err error) {
	one, err := site.Get[shape.Download](r, "/v1/downloads/{id}")
	if err != nil {
		return "", err
	}
	made, err := site.Post[shape.Download](r, "/v1/downloads/{id}/again", nil)
	return after(made, one.SourceURL), err
}

// otherLink is the query parameter which says that the download existed before, with another link than the given one.
const otherLink = "other-link"

// wishesSending reports whether the box for sending is ticked.
func wishesSending(r *site.Request) bool { return r.PostFormValue("send") != "" }

// after is the page of a download that was requested with a link.
func after(made shape.Download, link string) string {
	if !made.AsksFor(link) {
		return "/downloads/" + made.ID + "?note=" + otherLink
	}
	return "/downloads/" + made.ID
}

// card shows the latest downloads. One that makes no progress needs its owner.
func card(r *site.Request) (site.Card, error) {
	list, err := site.Get[shape.Page[shape.Download]](r, "/v1/downloads?limit=20")
	all := showAll(r, list.Items)

	var needs []site.Need
	for _, d := range all {
		if d.Mine && d.Attention != nil && !d.CancelRequested && len(needs) < 5 {
			needs = append(needs, site.Need{Text: d.Title + ": " + d.Notes[len(d.Notes)-1], Path: "/downloads/" + d.ID})
		}
	}
	return site.Card{Needs: needs, Data: all[:min(5, len(all))]}, err
}

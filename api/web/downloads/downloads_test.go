package downloads_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/api/web/downloads"
	"stagecoach/api/web/site"
	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// shownAs is a download, and what its page shows besides the name of its state.
type shownAs struct {
	shape.Download
	says          []string
	cancel, again bool // its buttons
}

// everyState lists a user's downloads in every state, with every reason to wait.
func everyState(user string) []shownAs {
	made := func(status lifecycle.DownloadState, change func(d *shape.Download)) shape.Download {
		d := shape.Download{
			UserID: user, BookID: "4", BookTitle: "Wheels", MediaType: "text", Status: status, SourceURL: "magnet:?xt=urn:btih:1",
			Size: 1000, CreatedAt: time.Now(), AllowedActions: []lifecycle.DownloadAction{lifecycle.DownloadActionCancel},
		}
		if d.Ended() {
			d.AllowedActions = nil
		}
		change(&d)
		return d
	}
	text := func(code fault.Code) *string { return shape.Optional(string(code)) }
	soon := time.Now().Add(time.Minute)

	return []shownAs{
		{made("queued", func(*shape.Download) {}), []string{"in the queue"}, true, false},
		{made("queued", func(d *shape.Download) { d.LastError = text(fault.NoFreeSpace) }), []string{"too little free disk space"}, true, false},
		{made("queued", func(d *shape.Download) { d.WaitsFor = shape.Optional(lifecycle.WaitsForMetadata) }), []string{"Looking for seeders"}, true, false},
		{made("downloading", func(d *shape.Download) {
			eta := int64(355)
			d.Progress, d.Speed, d.ETASeconds = 0.42, 100, &eta
		}), []string{`<progress value="42"`, "42% (420 B of 1000 B)", "100 B per second", "6 min left"}, true, false},
		{made("downloading", func(d *shape.Download) {
			d.SourcePlace = 2
			d.Sources = []shape.DownloadSource{{Place: 1, Title: "On <Wheels>", Indexer: "Books", Size: 1000, Outcome: text(fault.Stalled)}, {Place: 2}}
		}), []string{"Source 2 of 2", "On &lt;Wheels&gt; <span class=\"quiet\">Books</span>", "no progress for a long time", "Link <span class=\"badge busy\">this one now</span>"}, true, false},
		{made("downloading", func(d *shape.Download) { d.Attention = text(fault.Stalled) }), []string{"No data at the moment", "no progress for a long time"}, true, false},
		{made("downloading", func(d *shape.Download) {
			d.Attention, d.LastError = text(fault.ImportFailed), text(fault.ImportFailed)
			d.AllowedActions = append(d.AllowedActions, lifecycle.DownloadActionRetryImport)
		}), []string{"could not be put into the library", `action="/downloads/6/retry-import"`, "Put into the library again"}, true, false},
		{made("downloading", func(d *shape.Download) { d.Attention = text(fault.TorrentStopped) }), []string{"has stopped it in the download program. Start it there"}, true, false},
		{made("downloading", func(d *shape.Download) { d.LastError = text(fault.NoFreeSpace) }), []string{"too little free disk space"}, true, false},
		{made("downloading", func(d *shape.Download) { d.FirstNotFoundAt, d.DeadlineAt = &soon, &soon }), []string{"does not list it now", "Fails unless found by"}, true, false},
		{made("downloading", func(d *shape.Download) { d.CancelRequested = true }), []string{"being cancelled"}, false, false},
		{made("completed", func(d *shape.Download) { d.CompletedAt, d.InBook, d.LeftOut = &soon, true, 3 }), []string{"in the library", "Completed", "files of this kind, which were skipped: 3."}, false, false},
		{made("completed", func(d *shape.Download) { d.CompletedAt, d.SentAt, d.Files, d.InBook = &soon, &soon, 1, true }), []string{"Sent to the chat", `action="/downloads/12/send"`, "Send to my chat"}, false, false},
		{made("completed", func(d *shape.Download) { d.CompletedAt, d.Attention = &soon, text(fault.FileTooBig) }), []string{"The book has another copy", "The file is too big"}, false, false},
		{made("failed", func(d *shape.Download) {
			d.FailureReason, d.LastError = text(fault.EnqueueFailed), text(fault.SourceNotTorrent)
		}), []string{"not downloaded", "could not be started. The file behind the link is not a torrent file, or is too big for one.", "enqueue_failed"}, false, true},
		{made("failed", func(d *shape.Download) {
			d.FailureReason, d.LastError, d.OtherCategory = text(fault.EnqueueFailed), text(fault.TorrentElsewhere), text("tv <sonarr>")
		}), []string{"already has this torrent", "It is in the category “tv &lt;sonarr&gt;” there."}, false, true},
		{made("failed", func(d *shape.Download) { d.FailureReason, d.BookTitle = text(fault.BookGone), "" }), []string{"book 4", "The book has been removed."}, false, false},
		{made("canceled", func(*shape.Download) {}), []string{"cancelled"}, false, true},
		{made("canceled", func(d *shape.Download) { d.UserID = "77" }), []string{"Requested by user"}, false, false},
	}
}

// TestEveryState opens the page of a download in every state, and the list of all of them.
func TestEveryState(t *testing.T) {
	t.Parallel()
	all := everyState("1")
	open := signedIn(t, all, false)

	list := open("/downloads")
	for i, want := range all {
		page := open(fmt.Sprint("/downloads/", i))
		for _, text := range want.says {
			if !strings.Contains(page, text) {
				t.Errorf("download %d, %s, does not say %q:\n%s", i, want.Status, text, page)
			}
		}
		if strings.Contains(page, "/cancel") != want.cancel || strings.Contains(page, "/again") != want.again {
			t.Errorf("download %d, %s, has other buttons:\n%s", i, want.Status, page)
		}
		if !strings.Contains(list, fmt.Sprintf(`href="/downloads/%d"`, i)) {
			t.Errorf("download %d, %s, is not in the list", i, want.Status)
		}
	}
}

// TestSendWish offers to send a download's files only if there is a library folder to send from.
func TestSendWish(t *testing.T) {
	t.Parallel()
	for _, library := range []bool{false, true} {
		open := signedIn(t, everyState("1"), library)
		for _, path := range []string{"/books/4", "/books/4/releases"} {
			page := open(path)
			if strings.Contains(page, `name="send"`) != library || !strings.Contains(page, `name="key"`) {
				t.Errorf("library %t, %s:\n%s", library, path, page)
			}
		}
	}
}

// signedIn serves the pages over an API that has these downloads, and opens them as user 1.
func signedIn(t *testing.T, all []shownAs, library bool) (open func(path string) string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	record, err := store.Open(t.Context(), testdb.URL(t), testdb.Key)
	must(err)
	t.Cleanup(record.Close)
	api := server.New(server.Config{Store: record})
	register(api, all)
	must(site.Register(site.Config{API: api, Store: record.Accounts, Library: library}, downloads.Part()))
	served := httptest.NewServer(api)
	t.Cleanup(served.Close)

	token := account.NewToken()
	_, err = record.Accounts.CreateUser(t.Context(), account.User{Name: "Ada", Status: account.UserActive}, token)
	must(err)
	jar, err := cookiejar.New(nil)
	must(err)
	browser := &http.Client{Jar: jar}

	read := func(answer *http.Response, err error) string {
		t.Helper()
		must(err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		must(err)
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d\n%s", answer.Request.URL, answer.StatusCode, text)
		}
		return string(text)
	}
	read(browser.PostForm(served.URL+"/sign-in", url.Values{"token": {token}, "next": {"/downloads"}}))
	return func(path string) string { return read(browser.Get(served.URL + path)) }
}

type byID struct {
	ID int `path:"id"`
}

// query are the parameters with which the pages read lists.
type query struct {
	BookID    string `query:"book_id"`
	Limit     string `query:"limit"`
	Q         string `query:"q"`
	MediaType string `query:"media_type"`
}

// register adds the operations that the pages read.
func register(api *server.Server, all []shownAs) {
	group := server.Group{Server: api, Tag: "Downloads", Access: server.ForUsers, Scope: account.ScopeRead}
	one := func(i int) shape.Download {
		d := all[i].Download
		d.ID = fmt.Sprint(i)
		return d
	}

	server.Register(group, server.Operation{Id: "list", Route: "GET /v1/downloads", Summary: "List"},
		func(context.Context, *query) (list shape.Page[shape.Download], err error) {
			for i := range all {
				list.Items = append(list.Items, one(i))
			}
			return list, nil
		})
	server.Register(group, server.Operation{Id: "get", Route: "GET /v1/downloads/{id}", Summary: "Get"},
		func(_ context.Context, in *byID) (shape.Download, error) { return one(in.ID), nil })
	server.Register(group, server.Operation{Id: "book", Route: "GET /v1/books/{id}", Summary: "Book"},
		func(context.Context, *byID) (shape.Book, error) { return shape.Book{ID: "4", Title: "Wheels"}, nil })
	server.Register(group, server.Operation{Id: "find", Route: "GET /v1/releases", Summary: "Find"},
		func(context.Context, *query) (shape.Releases, error) {
			return shape.Releases{Items: []shape.Release{{Title: "Wheels", Indexer: "Books", SourceURL: "magnet:?"}}}, nil
		})
	server.Register(group, server.Operation{Id: "events", Route: "GET /v1/downloads/{id}/events", Summary: "Events"},
		func(context.Context, *byID) (shape.Page[shape.History], error) {
			return shape.Page[shape.History]{Items: []shape.History{{Type: "enqueued", To: "queued"}, {Type: lifecycle.DownloadStalled}}}, nil
		})
}

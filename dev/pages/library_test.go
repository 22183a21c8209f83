package pages

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/dev/night"
	"stagecoach/dev/sim/torrentsim"
)

// libraryReader creates a user for one test, so that its lists contain nothing from other tests.
func libraryReader(t *testing.T, name string) shape.User {
	t.Helper()
	admin := &client.Client{Base: running.Info.API, Token: running.Info.AdminToken}
	made, err := client.Ask[shape.User](t.Context(), admin, client.Call{
		Method: http.MethodPost, Path: "/v1/users", Body: map[string]string{"name": name},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// seed creates a torrent, and returns the URL of its .torrent file. One without a seed is never downloaded.
func seed(t *testing.T, spec torrentsim.TorrentSpec) (address string) {
	t.Helper()
	made, err := running.WebSeed.Add(spec)
	if err != nil {
		t.Fatal(err)
	}
	return made.URL
}

// addBook adds a book with its form, and ends on the book's page.
func (b *browser) addBook(title string) {
	b.Helper()
	b.open("/books/new")
	b.fill("#title", title)
	b.fill("#author", "A. Cartwright")
	b.press("main form button")
	b.shows("Download it")
}

// askFor requests a download on a book's page, and ends on the download's page.
func (b *browser) askFor(address, medium string) {
	b.Helper()
	b.fill("#source_url", address)
	b.press(`form[method="post"] button[value="` + medium + `"]`)
	b.shows("History")
}

// TestNightLibraryDownload adds a book and downloads it: the open page shows the progress and the end without a reload,
// and the book's page shows the medium.
func TestNightLibraryDownload(t *testing.T) {
	night.Only(t)
	t.Parallel()
	running.WebSeed.SetSpeed(2 << 20)
	b := signedIn(t, libraryReader(t, "Live reader").Token)
	b.open("/books")
	b.press(`a[href="/books/new"]`)
	b.addBook("A Treatise on Wheels")
	book := evaluate[string](b, `location.pathname`)
	b.askFor(seed(t, torrentsim.TorrentSpec{Name: "wheels.epub", Size: 48 << 20}), "text")
	evaluate[int](b, `window.loadedOnce = 1`)

	var seen []float64 // with just events there would be one
	b.until("it completes", func() bool {
		if value := evaluate[float64](b, `document.querySelector("main progress")?.value ?? 0`); value > 0 && value < 100 && !slices.Contains(seen, value) {
			seen = append(seen, value)
		}
		return strings.Contains(b.text(), "Completed")
	})

	if len(seen) < 3 || evaluate[int](b, `window.loadedOnce ?? 0`) != 1 {
		t.Errorf("while it was downloaded the open page showed %v", seen)
	}

	b.open(book)
	b.shows("text: in the library")
	b.open("/books?q=TREATISE")
	b.shows("text: in the library")
	b.open("/")
	b.shows("A Treatise on Wheels")
}

// TestNightLibraryWithoutScripts searches, adds, downloads, cancels and retries without scripts.
func TestNightLibraryWithoutScripts(t *testing.T) {
	night.Only(t)
	t.Parallel()
	b := newBrowser(t, running.Info.API)
	b.withoutScripts()
	b.open("/books?q=postilion")
	b.fill("#token", libraryReader(t, "Plain reader").Token)
	b.press("main form button")
	b.shows("No such book")
	b.press(`.empty a`)
	b.fill("#author", "A. Cartwright")
	b.press("main form button") // the search words become the title
	b.shows("none yet")
	book := evaluate[string](b, `location.pathname`)

	b.fill("#source_url", "wheels")
	b.press(`form[method="post"] button[value="text"]`)
	b.refused("VALIDATION_ERROR")
	if typed := evaluate[string](b, `document.querySelector("#source_url").value`); typed != "wheels" {
		t.Errorf("the refused form has %q", typed)
	}
	b.wantStatus(http.StatusUnprocessableEntity)

	b.open(book)
	never := seed(t, torrentsim.TorrentSpec{Name: "never.epub", Size: 1 << 20, NoSeed: true})
	b.askFor(never, "audio")
	b.becomes("No data at the moment")
	b.press(`form[action$="/cancel"] button`)
	b.becomes("cancelled")
	b.press(`form[action$="/again"] button`)
	b.becomes("No data at the moment")

	again := evaluate[string](b, `location.pathname`)
	b.open(book)
	b.askFor(seed(t, torrentsim.TorrentSpec{Name: "other.mp3", Size: 1 << 20}), "audio")
	b.shows("is in progress from another link")
	if at := evaluate[string](b, `location.pathname`); at != again {
		t.Errorf("another link leads to %s, and %s is in progress", at, again)
	}
	b.press(`form[action$="/cancel"] button`)
	b.becomes("cancelled")

	b.open(book)
	b.askFor(seed(t, torrentsim.TorrentSpec{Name: "other.mp3", Size: 1 << 20}), "audio")
	b.becomes("Completed")
	b.open("/downloads?state=completed")
	b.shows("postilion")
	b.open("/downloads?state=failed")
	b.shows("No download is in this state.")
	b.open("/books?state=Library&q=postilion")
	b.shows("audio: in the library")
}

// TestNightLibraryRefusedForm leaves a page open whose form was refused: what happens meanwhile appears, and the reason
// and the person's input stay.
func TestNightLibraryRefusedForm(t *testing.T) {
	night.Only(t)
	t.Parallel()
	reader := libraryReader(t, "Refused reader")
	b := signedIn(t, reader.Token)
	b.addBook("Of patience")
	book := strings.TrimPrefix(evaluate[string](b, `location.pathname`), "/books/")
	b.fill("#source_url", "wheels")
	b.press(`form[method="post"] button[value="audio"]`)
	b.refused("VALIDATION_ERROR")
	b.wantStatus(http.StatusUnprocessableEntity)
	b.isLive()

	_, err := client.Ask[shape.Download](t.Context(), &client.Client{Base: running.Info.API, Token: reader.Token}, client.Call{
		Method: http.MethodPost, Path: "/v1/downloads", IdempotencyKey: t.Name(), Body: map[string]string{
			"book_id": book, "media_type": "text", "source_url": seed(t, torrentsim.TorrentSpec{Name: "patience.epub", Size: 1 << 20}),
		},
	})
	b.must(err)
	b.shows("text: in the library")
	b.refused("VALIDATION_ERROR")
	if typed := evaluate[string](b, `document.querySelector("#source_url").value`); typed != "wheels" {
		t.Errorf("the form has %q", typed)
	}
}

// TestNightLibraryLooks shows downloads of every state, in both color schemes and all widths, and the hints of an empty
// library and list.
func TestNightLibraryLooks(t *testing.T) {
	night.Only(t)
	t.Parallel()
	reader := libraryReader(t, "Reader of everything")
	b := signedIn(t, reader.Token)
	b.open("/downloads")
	b.shows("No downloads yet")
	b.addBook("Of stages, and of those who drive them; the second edition, corrected and much enlarged")
	book := evaluate[string](b, `location.pathname`)
	b.askFor(seed(t, torrentsim.TorrentSpec{Name: "slow.epub", Size: 1 << 20, NoSeed: true}), "text")
	b.shows("No data at the moment")
	live := evaluate[string](b, `location.pathname`)

	db, err := pgx.Connect(t.Context(), running.Info.DatabaseURL)
	b.must(err)
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	id := strings.TrimPrefix(book, "/books/")
	rows, err := db.Query(t.Context(), `INSERT INTO download_jobs (user_id, book_id, media_type, status, source, source_url,
			failure_reason, last_error, completed_at_utc, content_path, size, progress)
		SELECT $1, $2, 'audio', status, 'magnet', 'magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a', reason, error,
			CASE WHEN status = 'completed' THEN now() END, '/downloads/wheels.epub', 734003200, 1
		FROM (VALUES ('completed', NULL, ''), ('failed', 'enqueue_failed', 'SOURCE_NOT_TORRENT'), ('failed', 'missing_external_job', ''),
			('canceled', NULL, '')) AS ended (status, reason, error) RETURNING id::text`, reader.ID, id)
	b.must(err)
	ended, err := pgx.CollectRows(rows, pgx.RowTo[string])
	b.must(err)
	_, err = db.Exec(t.Context(), `UPDATE download_jobs SET attention = 'stalled' WHERE id = $1`, strings.TrimPrefix(live, "/downloads/"))
	b.must(err)

	b.open("/")
	b.shows("There has been no progress for a long time.")
	b.open("/downloads/" + ended[1])
	b.shows("It could not be started. The file behind the link is not a torrent file, or is too big for one.")
	b.open("/downloads/" + ended[2])
	b.shows("The download program no longer has it.")

	paths := []string{"/", "/books", "/books?q=nothing", "/books?state=Library", "/books/new", book, "/downloads", "/downloads?state=failed", live}
	for _, id := range ended {
		paths = append(paths, "/downloads/"+id)
	}
	looksRight(t, reader.Token, paths...)
}

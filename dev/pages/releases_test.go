package pages

import (
	"strings"
	"testing"

	"stagecoach/dev/night"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/sim/torznabsim"
)

// TestNightReleasePicked finds releases on a book's page, picks one, and has the book: only the worker fetches the
// indexer's file, with its key.
func TestNightReleasePicked(t *testing.T) {
	night.Only(t)
	t.Parallel()
	title := "Harness and Bridle"
	for _, name := range []string{"harness.epub", "harness-2.epub"} {
		running.Torznab.Add(torznabsim.Release{
			Title: title + ", A. Cartwright (" + name + ")", Indexer: "Saddlers", Size: 1 << 20, Seeders: 5 + len(name), Days: 8,
			Torrent: seed(t, torrentsim.TorrentSpec{Name: name, Size: 1 << 20}),
		})
	}

	running.Torznab.Add(torznabsim.Release{
		Title: title + ", A. Cartwright, read aloud", Audio: true, Size: 1 << 20, Seeders: 3,
		Torrent: seed(t, torrentsim.TorrentSpec{Name: "harness.mp3", Size: 1 << 20}),
	})

	b := signedIn(t, libraryReader(t, "Finder").Token)
	b.addBook(title)
	book := evaluate[string](b, `location.pathname`)
	b.press(`form[role="search"] button[value="text"]`)
	b.shows("harness-2.epub")
	if first := evaluate[string](b, `document.querySelector("tbody tr").textContent`); !strings.Contains(first, "harness-2.epub") || !strings.Contains(first, "Saddlers") {
		t.Errorf("the first release is %q", first)
	}
	if strings.Contains(evaluate[string](b, `document.documentElement.outerHTML`), "only-for-the-stand-in") {
		t.Error("the page has the key of the indexer")
	}

	b.press(`button[name="pick"][value="1"]`)
	b.shows("History")
	b.becomes("Completed")

	b.open(book)
	b.press(`form[role="search"] button[value="audio"]`)
	b.shows("Releases of the audiobook")
	b.press(`button[name="pick"][value="0"]`)
	b.becomes("Completed")
	b.open(book)
	b.shows("audio: in the library")
	b.open(book + "/releases?media_type=text&q=nowhere")
	b.shows("Nothing was found")
}

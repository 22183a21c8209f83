package pages

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/sim/torznabsim"
)

// TestAChatWithTheBot plays the demonstration as a person would: it types commands, chooses a file with the bot's
// buttons, and receives it.
func TestAChatWithTheBot(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, running.Info.StandIns.Telegram)
	b.open("/_/chats/1001")
	b.fill("#text", "/files\n")
	b.shows("small.txt")
	b.tap("small.txt")
	b.shows("Folder:")
	b.tap("Download")
	b.shows("Delivered")
	b.eventually(`document.querySelector('main a[href$="/document"]') !== null`)
	b.accessible("the chat")
}

// TestFromAWishToTheBook sends a title to the bot and presses the first release, which has no seeds. The second one
// brings the book into the library, the chat, and a reading app's list. A chat has one menu, which a command replaces,
// so this person's chat is not shared with another test.
func TestFromAWishToTheBook(t *testing.T) {
	t.Parallel()
	title := "From Inn to Inn"
	for name, seeders := range map[string]int{"inn-dead.epub": 40, "inn-alive.epub": 4} {
		running.Torznab.Add(torznabsim.Release{
			Title: title + " (" + name + ")", Size: 1 << 20, Seeders: seeders, Days: 8,
			Torrent: seed(t, torrentsim.TorrentSpec{Name: name, Size: 1 << 20, NoSeed: seeders == 40}),
		})
	}

	b := newBrowser(t, running.Info.StandIns.Telegram)
	b.open("/_/chats/1000")
	b.fill("#text", "/find "+title+"\n")
	b.shows("(inn-dead.epub)")
	b.tap("1. ", "40")
	b.tap("Add", title)
	documents := `[...document.querySelectorAll('main a[href$="/document"]')].filter((a) => a.innerText.includes("` + title + `")).length`
	b.eventually(documents + ` > 0`)
	b.eventually(`/#\d+ ` + title + `/.test(document.querySelector("main").innerText)`)

	person := signedIn(t, running.Info.AdminToken)
	person.open("/downloads/" + regexp.MustCompile(`#(\d+) ` + title).FindStringSubmatch(b.text())[1])
	person.shows("next source")
	person.open("/books?q=" + url.QueryEscape(title))
	person.shows("text: in the library")
	if n := evaluate[int](b, documents); n != 1 {
		t.Errorf("%d documents:\n%s", n, b.text())
	}
	if list := opds(t, "/opds/search?q="+url.QueryEscape(title)); strings.Count(list, "<entry>") != 1 || !strings.Contains(list, title) {
		t.Errorf("a reading app has %s", list)
	}
}

// opds sends a request as a reading app does.
func opds(t *testing.T, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, running.Info.API+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("reader", running.Info.AdminToken)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status, err)
	}
	return string(text)
}

// tap presses the button of the chat that has all these texts, once there is one. It is one step in the page: the chat
// is redrawn with each message, and a mouse pressed before that and released after it presses nothing.
func (b *browser) tap(texts ...string) {
	b.Helper()
	wanted, err := json.Marshal(texts)
	b.must(err)
	b.eventually(`(() => {
		const key = [...document.querySelectorAll(".keys button")].find((one) => ` + string(wanted) + `.every((text) => one.innerText.includes(text)));
		key?.click();
		return Boolean(key);
	})()`)
}

package pages

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"stagecoach/api/shape"
	"stagecoach/dev/demo"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
)

// TestScreenshots writes a screenshot of each kind of page to the folder in STAGECOACH_SCREENSHOTS, for `make
// screenshots`: a user's pages, and an administrator's additional ones.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("STAGECOACH_SCREENSHOTS")
	if folder == "" {
		t.Skip("STAGECOACH_SCREENSHOTS names no folder")
	}

	if err := demo.Show(t.Context(), running, demo.Options{Once: true}); err != nil {
		t.Fatal(err)
	}
	begin(t)

	desk := look{width: 1280, scheme: "light", language: "en"}
	phone := look{width: 375, scheme: "dark", language: "ru"}
	user := signedIn(t, running.Info.UserToken)
	user.looks(desk)
	seen := user.picture(filepath.Join(folder, "user"), "/", map[string]bool{})
	user.looks(phone)
	user.picture(filepath.Join(folder, "phone"), "/", map[string]bool{})

	admin := signedIn(t, running.Info.AdminToken)
	admin.looks(desk)
	admin.picture(filepath.Join(folder, "admin"), "/", map[string]bool{})
	if len(seen) < 10 {
		t.Errorf("there are pictures of %d pages: %v", len(seen), seen)
	}

	chat := newBrowser(t, running.Info.StandIns.Telegram)
	chat.must(chromedp.Do(chat.ctx, chromedp.EmulateViewport(800, 800)))
	chat.open("/_/chats/1001")
	chat.save(filepath.Join(folder, "chat.png"))
}

// changing is what differs between pages of one kind: numbers, hashes and keys.
var changing = regexp.MustCompile(`/[^/]*[0-9][^/]*`)

// picture takes a screenshot of a page, and of each page that it links to, one of each kind.
func (b *browser) picture(name, first string, seen map[string]bool) map[string]bool {
	b.Helper()
	seen[first] = true
	for next := []string{first}; len(next) > 0; {
		path := next[0]
		next = next[1:]
		b.open(path)
		kind := cmp.Or(strings.Trim(strings.ReplaceAll(changing.ReplaceAllString(path, "/one"), "/", "-"), "-"), "home")
		b.save(fmt.Sprintf("%s-%s.png", name, kind))

		for _, link := range evaluate[[]string](b, `[...document.querySelectorAll("nav a, main a, .who")].map((a) => new URL(a.getAttribute("href"), location).href)`) {
			at, err := url.Parse(link)
			b.must(err)
			kind := changing.ReplaceAllString(at.Path, "/one")
			if !strings.HasPrefix(link, b.base+"/") || strings.HasPrefix(at.Path, "/docs") || seen[kind] {
				continue
			}
			seen[kind] = true
			next = append(next, at.Path)
		}
	}
	return seen
}

// save writes a screenshot of the page, with its times in the reader's zone and its event stream open.
func (b *browser) save(name string) {
	b.Helper()
	time.Sleep(500 * time.Millisecond)
	full, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	b.must(err)
	small, err := reduced(full)
	b.must(err)
	b.must(os.MkdirAll(filepath.Dir(name), 0o755))
	b.must(os.WriteFile(name, small, 0o644))
}

// reduced returns a PNG of 256 colors, which takes a third of the bytes: the most frequent ones, which are those of
// whole areas, and among similar ones the most frequent. So a small button keeps its color, and the edges of letters do
// not.
func reduced(data []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}

	seen := map[color.RGBA]int{}
	bounds := full.Bounds()
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			seen[at(x, y)]++
		}
	}

	var palette color.Palette
	kept := map[color.RGBA]bool{}
	frequent := slices.SortedFunc(maps.Keys(seen), func(a, b color.RGBA) int { return seen[b] - seen[a] })
	for _, one := range frequent {
		alike := color.RGBA{one.R >> 4, one.G >> 4, one.B >> 4, 0}
		if len(palette) < 32 || !kept[alike] && len(palette) < 256 {
			kept[alike] = true
			palette = append(palette, one)
		}
	}

	nearest := map[color.RGBA]uint8{}
	for _, one := range frequent {
		nearest[one] = uint8(palette.Index(one))
	}

	small := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			small.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}

	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small)
	return out.Bytes(), err
}

// begin starts what the demonstration does not leave in progress: a delivery, a download, and tasks in several states.
func begin(t *testing.T) {
	t.Helper()
	running.Telegram.AddFault(sim.Fault{Match: "sendDocument", Kind: "throttle", BytesPerSecond: 1 << 20})
	if err := os.WriteFile(filepath.Join(running.DropFolder(), "atlas-of-roads.pdf"), make([]byte, 60<<20), 0o600); err != nil {
		t.Fatal(err)
	}

	running.WebSeed.SetSpeed(128 << 10)
	address := seed(t, torrentsim.TorrentSpec{Name: "treatise.epub", Size: 48 << 20})
	send[shape.Book](t, "/v1/books", map[string]any{"title": "Of Horses and Their Drivers", "author": "B. Ostler"})
	book := send[shape.Book](t, "/v1/books", map[string]any{"title": "A Treatise on Wheels", "author": "A. Cartwright"})
	send[shape.Download](t, "/v1/downloads", map[string]any{"book_id": book.ID, "media_type": "text", "source_url": address})

	space := send[shape.Workspace](t, "/v1/workspaces", map[string]any{"name": "Spring edition"})
	batch := send[shape.TaskBatch](t, "/v1/tasks/batch", map[string]any{"workspace_id": space.ID, "tasks": []map[string]any{
		{"ref": "list", "title": "List the corrections"},
		{"ref": "maps", "title": "Draw the new maps", "priority": "high"},
		{"ref": "text", "title": "Correct the text", "blocked_by": []string{"list"}},
		{"ref": "set", "title": "Set the pages", "blocked_by": []string{"text", "maps"}},
		{"ref": "proof", "title": "Read the proofs", "blocked_by": []string{"set"}},
		{"ref": "paper", "title": "Order paper", "priority": "critical"},
		{"ref": "post", "title": "Write to the subscribers", "priority": "low"},
	}})

	task := func(i int) string { return "/v1/tasks/" + batch.Items[i].ID }
	why := map[string]any{"comment": "I know this part"}
	for _, i := range []int{0, 1, 5} {
		send[shape.Task](t, task(i)+"/claim", why)
	}
	send[shape.Task](t, task(0)+"/status", map[string]any{"to": "DONE", "comment": "There are twelve"})
	send[shape.Task](t, task(5)+"/status", map[string]any{"to": "BLOCKED", "comment": "The mill is closed until Monday"})

	deliver(t, "atlas-of-roads.pdf")
}

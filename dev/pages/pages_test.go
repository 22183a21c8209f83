// Package pages tests the pages in a real browser, over the whole stack.
package pages

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/api/words"
	"stagecoach/dev/stack"
	"stagecoach/dev/wait"
	"stagecoach/dev/wire"
	"stagecoach/starter/terminal"
)

// running is the stack, which all tests share.
var running *stack.Stack

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("needs the whole stack")
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	state, err := os.MkdirTemp("", "pages")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(state)
	if err := os.Setenv("TMPDIR", state); err != nil { // Chromium leaves a folder in it
		panic(err)
	}

	// A stalled source of a download soon gives way to the next.
	if err := os.Setenv("STAGECOACH_DOWNLOAD_NEXT_AFTER", "3s"); err != nil {
		panic(err)
	}

	ctx, broken := context.WithCancelCause(context.Background())
	defer broken(nil)

	running = stack.New(state, terminal.NewScreen(io.Discard), broken)
	defer running.Stop()
	defer func() { stopBrowser() }()

	if err := running.Start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}

	for name, size := range map[string]int{"small.txt": 5, "other.bin": 2 << 20, "folder/inside.txt": 7} {
		name = filepath.Join(running.DropFolder(), name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			panic(err)
		}
		if err := os.WriteFile(name, []byte(strings.Repeat("a", size)), 0o644); err != nil {
			panic(err)
		}
	}

	return m.Run()
}

// api calls the API as the user whose pages are tested.
func api() *client.Client {
	return &client.Client{Base: running.Info.API, Token: running.Info.UserToken}
}

// signedIn opens a tab that is signed in with a token.
func signedIn(t *testing.T, token string) *browser { return signedInAt(t, running.Info.API, token) }

// signedInAt is signedIn for a browser that reaches the API at another address.
func signedInAt(t *testing.T, base, token string) *browser {
	t.Helper()
	b := newBrowser(t, base)
	b.open("/sign-in")
	b.fill("#token", token)
	b.press("main form button")
	t.Cleanup(b.signOut)
	return b
}

// signOut ends the session: a user has at most 20, and all tests share one user. A failure is ignored.
func (b *browser) signOut() {
	b.wantNoErrors()
	_, _ = chromedp.Run(b.ctx, chromedp.Evaluate[int](`fetch("/sign-out", {method: "POST"}).then(() => 0)`, chromedp.EvalAwaitPromise))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errors = nil
}

// deliver requests a delivery from the API, once the shared folder lists the file.
func deliver(t *testing.T, name string) (made shape.Delivery) {
	t.Helper()
	key := fmt.Sprint(t.Name(), time.Now().UnixNano())
	wait.Eventually(t, "a delivery of "+name+" is made", func() bool {
		files, err := client.Ask[shape.FileList](t.Context(), api(), client.Call{Method: http.MethodGet, Path: "/v1/files"})
		if err != nil {
			return false
		}

		at := slices.IndexFunc(files.Items, func(file shape.File) bool { return file.Name == name })
		if at < 0 {
			return false
		}
		made, err = client.Ask[shape.Delivery](t.Context(), api(), client.Call{
			Method: http.MethodPost, Path: "/v1/deliveries", Body: map[string]string{"file_id": files.Items[at].FileID},
			IdempotencyKey: key,
		})
		return err == nil
	})
	return made
}

// TestEveryPage opens the pages that belong to no workload, and those of deliveries.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	made := deliver(t, "small.txt")
	looksRight(
		t, running.Info.UserToken, "/", "/files", "/files?path=/folder", "/files?q=inside", "/files?q=nothing", "/deliveries",
		"/deliveries?state=EXPIRED", "/deliveries/"+made.ID, "/account", "/confirm?next=/files", "/sign-in",
	)
}

// look is how a person sees the pages.
type look struct {
	language, scheme string
	width            int64
}

// looks are two, which cover both languages, both color schemes and two widths; with STAGECOACH_LOOKS=all each language in
// each color scheme, also on a tablet and a wide screen.
func looks() (all []look) {
	if os.Getenv("STAGECOACH_LOOKS") != "all" {
		return []look{{words.English, "light", 1280}, {words.Russian, "dark", 390}}
	}
	for _, language := range []string{words.English, words.Russian} {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 390, 768, 1920} {
				all = append(all, look{language, scheme, width})
			}
		}
	}
	return all
}

// squeezed lists what a narrow screen breaks: boxes too small to hit, badges outside their card, and tables that hide
// columns without indicating it.
const squeezed = `[
	...[...document.querySelectorAll("main input:is([type=checkbox], [type=radio])")].filter((e) => e.checkVisibility() && e.offsetWidth < 16),
	...[...document.querySelectorAll("main .badge")].filter((e) => e.checkVisibility() && e.closest(".card") && !e.closest(".scroll, .board") &&
		e.getBoundingClientRect().right > e.closest(".card").getBoundingClientRect().right),
	...[...document.querySelectorAll("main *")].filter((e) => /auto|scroll/.test(getComputedStyle(e).overflowX) && !e.matches("textarea, select, input") &&
		e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).backgroundImage == "none"),
].map((e) => e.outerHTML.slice(0, 200))`

// looksRight opens pages in all looks: no error, no violation of the accessibility rules, and nothing wider than the
// screen.
func looksRight(t *testing.T, token string, paths ...string) {
	t.Helper()
	for _, look := range looks() {
		t.Run(fmt.Sprintf("%s %s %d", look.language, look.scheme, look.width), func(t *testing.T) {
			t.Parallel()
			b := signedIn(t, token)
			b.looks(look)
			for _, path := range paths {
				b.open(path)
				b.accessible(path)
				if wide := evaluate[int64](b, `document.documentElement.scrollWidth`); wide > look.width {
					t.Errorf("%s is %d wide on a screen of %d", path, wide, look.width)
				}
				for _, broken := range evaluate[[]string](b, squeezed) {
					t.Errorf("%s at %d: %s", path, look.width, broken)
				}
				b.wantNoErrors()
			}
		})
	}
}

// TestAPageIsLive changes what an open page shows: the change appears without a reload, also after a network outage.
func TestAPageIsLive(t *testing.T) {
	t.Parallel()
	line := wire.New(t, running.Info.API)
	b := signedInAt(t, line.URL, running.Info.UserToken)
	b.open("/deliveries")
	b.isLive()
	evaluate[int](b, `window.loadedOnce = 1`)

	deliver(t, "other.bin")
	b.shows("other.bin")
	b.shows("delivered")
	if evaluate[int](b, `window.loadedOnce ?? 0`) != 1 {
		t.Error("the page was loaded again")
	}

	line.Cut()
	b.shows("not connected")
	again := deliver(t, "small.txt")
	line.Mend()
	b.isLive()
	b.eventually(fmt.Sprintf(`document.querySelector('main a[href="/deliveries/%s"]') !== null`, again.ID))

	b.mu.Lock()
	b.errors = nil // the outage is one
	b.mu.Unlock()
}

// TestALinkSignsIn opens a link and presses its button.
func TestALinkSignsIn(t *testing.T) { // before the others: a user has one link
	b := newBrowser(t, running.Info.API)
	made, err := client.Ask[shape.SignInLink](
		t.Context(), api(), client.Call{Method: http.MethodPost, Path: "/v1/sign-in-links"},
	)
	b.must(err)
	b.open(strings.TrimPrefix(made.URL, running.Info.API))
	b.press("main button")
	b.shows("Choose a file")
}

// TestWithoutScripts sends a file, views its delivery and signs out, without scripts.
func TestWithoutScripts(t *testing.T) { // before the others: it ends all sessions of the user
	b := newBrowser(t, running.Info.API)
	b.withoutScripts()
	b.open("/files")
	b.fill("#token", running.Info.UserToken)
	b.press("main form button")
	b.press(`a[href="/files?path=%2ffolder"]`)
	b.press(`button[name="file_id"]`)
	b.shows("inside.txt")
	b.becomes("delivered")

	b.press(`button[name="file_id"]`) // again
	b.shows("inside.txt")
	b.open("/account")
	b.press(`button[name="all"]`)
	b.open("/files")
	b.shows("Sign in")
}

package pages

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
)

// TestKeyboardAlone signs in, sends a file, cancels it, requests a download and signs out with only Tab, Enter and
// Space. The focused element is always visible.
func TestKeyboardAlone(t *testing.T) {
	t.Parallel()
	held(t, "keyboard.bin")
	b := newBrowser(t, running.Info.API)
	b.open("/files")
	b.tabTo("#token")
	b.goes(running.Info.UserToken + kb.Enter)
	b.becomes("keyboard.bin") // the list may be older than the file

	b.tabTo(`li form button[aria-label="Send to my chat: keyboard.bin"]`)
	b.goes(" ")
	b.tabTo(`form[action$="/cancel"] button`)
	b.goes(kb.Enter)
	b.shows("cancelled")

	b.tabTo(`nav a[href="/books"]`)
	b.goes(kb.Enter)
	b.tabTo(`a[href="/books/new"]`)
	b.goes(kb.Enter)
	b.tabTo("#title")
	b.keys("Of keys")
	b.tabTo("#author")
	b.goes("A. Cartwright" + kb.Enter)
	b.tabTo("#source_url")
	b.keys(seed(t, torrentsim.TorrentSpec{Name: "keys.mp3", Size: 1 << 20}))
	b.tabTo(`form[method="post"] button[value="audio"]`)
	b.goes(" ")
	b.shows("Completed")

	b.tabTo(`a[href="/account"]`)
	b.goes(kb.Enter)
	b.tabTo(`form[action="/sign-out"] button`)
	b.goes(kb.Enter)
	b.shows("Sign in")
	b.open("/downloads")
	b.shows("Sign in")
}

// TestSkipLink skips the menu with the first link of a page.
func TestSkipLink(t *testing.T) {
	t.Parallel()
	b := signedIn(t, running.Info.UserToken)
	b.open("/books")
	b.eventually(`document.hasFocus() && document.readyState === "complete"`)
	b.keys(kb.Tab)
	b.eventually(`document.activeElement !== document.body`)
	if !evaluate[bool](b, `document.activeElement.matches(".skip")`) {
		t.Errorf("the first Tab leads to %s", b.focused())
	}
	b.eventually(`document.activeElement.getBoundingClientRect().left >= 0`)

	b.keys(kb.Enter)
	b.eventually(`location.hash !== ""`)
	b.keys(kb.Tab)
	b.eventually(`!document.activeElement.matches("body, .skip")`)
	if !evaluate[bool](b, `document.querySelector("main").contains(document.activeElement)`) {
		t.Errorf("behind the link comes %s", b.focused())
	}
}

// held puts a file into the shared folder that is not served while the test runs.
func held(t *testing.T, name string) {
	t.Helper()
	running.Yandex.AddFault(sim.Fault{Match: name, Kind: "slow", Delay: time.Hour})
	if err := os.WriteFile(filepath.Join(running.DropFolder(), name), []byte("held"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// keys presses keys, whatever has the focus.
func (b *browser) keys(keys string) {
	b.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.KeyEvent(keys)))
}

// goes presses keys that lead to another page, and waits for that one.
func (b *browser) goes(keys string) {
	b.Helper()
	evaluate[int](b, `window.isLeft = 1`)
	b.keys(keys)
	b.eventually(`window.isLeft === undefined && document.readyState === "complete"`)
}

// focused names what has the focus.
func (b *browser) focused() string {
	b.Helper()
	return evaluate[string](b, `document.activeElement.outerHTML.slice(0, 200)`)
}

// tabTo presses Tab until an element has the focus, and expects each one on the way to show its focus. The page may
// still be loading, without its styles, or its window may not have the focus yet, without which no element shows it.
func (b *browser) tabTo(selector string) {
	b.Helper()
	b.until("Tab leads to "+selector, func() bool {
		if b.asks("document.activeElement?.matches(`" + selector + "`) ?? false") {
			return true
		}
		_ = chromedp.Do(b.ctx, chromedp.KeyEvent(kb.Tab))
		if b.asks(`(() => {
			const focused = document.activeElement ?? document.body, style = getComputedStyle(focused);
			return document.readyState === "complete" && document.hasFocus() && focused !== document.body && (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2);
		})()`) {
			b.Errorf("the focus is not visible on %s", b.focused())
		}
		return false
	})
}

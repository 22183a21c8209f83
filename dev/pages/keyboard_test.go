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
	b.keys(running.Info.UserToken + kb.Enter)

	b.tabTo(`li form button[aria-label="Send to my chat: keyboard.bin"]`)
	b.keys(" ")
	b.tabTo(`form[action$="/cancel"] button`)
	b.keys(kb.Enter)
	b.shows("cancelled")

	b.tabTo(`nav a[href="/books"]`)
	b.keys(kb.Enter)
	b.tabTo(`a[href="/books/new"]`)
	b.keys(kb.Enter)
	b.tabTo("#title")
	b.keys("Of keys")
	b.tabTo("#author")
	b.keys("A. Cartwright" + kb.Enter)
	b.tabTo("#source_url")
	b.keys(seed(t, torrentsim.TorrentSpec{Name: "keys.mp3", Size: 1 << 20}))
	b.tabTo(`form[method="post"] button[value="audio"]`)
	b.keys(" ")
	b.shows("Completed")

	b.tabTo(`a[href="/account"]`)
	b.keys(kb.Enter)
	b.tabTo(`form[action="/sign-out"] button`)
	b.keys(kb.Enter)
	b.shows("Sign in")
	b.open("/downloads")
	b.shows("Sign in")
}

// TestSkipLink skips the menu with the first link of a page.
func TestSkipLink(t *testing.T) {
	t.Parallel()
	b := signedIn(t, running.Info.UserToken)
	b.open("/books")
	b.keys(kb.Tab)
	if seen := evaluate[bool](b, `document.activeElement.matches(".skip") && document.activeElement.getBoundingClientRect().left >= 0`); !seen {
		t.Errorf("the first Tab leads to %s", b.focused())
	}
	b.keys(kb.Enter)
	b.keys(kb.Tab)
	if !evaluate[bool](b, `document.querySelector("main").contains(document.activeElement)`) {
		t.Errorf("behind the link comes %s", b.focused())
	}
}

// held puts a file into the shared folder that is not served while the test runs.
func held(t *testing.T, name string) {
	t.Helper()
	running.Yandex.AddFault(sim.Fault{Match: name, Kind: "slow", Delay: time.Minute})
	if err := os.WriteFile(filepath.Join(running.DropFolder(), name), []byte("held"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// keys presses keys, whatever has the focus.
func (b *browser) keys(keys string) {
	b.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.KeyEvent(keys)))
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
	for deadline := time.Now().Add(time.Minute); !b.asks("document.activeElement?.matches(`" + selector + "`) ?? false"); {
		if time.Now().After(deadline) {
			b.Fatalf("Tab does not lead to %s:\n%s", selector, b.text())
		}

		b.keys(kb.Tab)
		if b.asks(`(() => {
			const focused = document.activeElement ?? document.body, style = getComputedStyle(focused);
			return document.readyState === "complete" && document.hasFocus() && focused !== document.body && (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2);
		})()`) {
			b.Errorf("the focus is not visible on %s", b.focused())
		}
	}
}

// asks evaluates a condition; false while the page changes.
func (b *browser) asks(condition string) bool {
	holds, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](condition))
	return err == nil && holds
}

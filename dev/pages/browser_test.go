package pages

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"stagecoach/dev/servers"
	"stagecoach/dev/wait"
)

// browser is one tab of Chromium. Any error that it reports, including violations of the Content-Security-Policy, fails
// the test.
type browser struct {
	*testing.T
	ctx  context.Context
	base string

	mu     sync.Mutex
	errors []string
}

// startBrowser runs once for all tests: each has its own tabs and cookies. Without Chromium the tests are skipped.
var startBrowser = sync.OnceValues(func() (context.Context, error) {
	program, err := servers.Chromium()
	if err != nil {
		return nil, err
	}

	allocated, _ := chromedp.NewExecAllocator(
		context.Background(), append(
			chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.ExecPath(program),
		)...,
	)

	ctx, cancel := chromedp.NewContext(allocated)
	stopBrowser = cancel
	return ctx, chromedp.Do(ctx)
})

var stopBrowser = func() {}

// newBrowser opens a tab without cookies.
func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	all, err := startBrowser()
	if err != nil {
		t.Skipf("there is no browser: %v", err)
	}

	b := &browser{T: t, base: base}
	tab, closeTab := chromedp.NewContext(all, chromedp.WithNewBrowserContext())
	t.Cleanup(closeTab)
	ctx, cancel := context.WithTimeout(tab, 12*time.Minute) // less than what go test allows
	t.Cleanup(cancel)
	b.ctx = ctx

	b.must(chromedp.Do(ctx))
	b.must(chromedp.Listen(ctx, b.hear))
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	b.must(err)
	_, err = chromedp.Call(ctx, runtime.Enable, cdp.Empty{})
	b.must(err)

	// The tabs share one browser, whose window gives only one of them the keyboard.
	_, err = chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	b.must(err)
	t.Cleanup(b.wantNoErrors)
	return b
}

func (b *browser) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if string(e.Entry.Level) == "error" {
			b.errors = append(b.errors, e.Entry.Text+" "+e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, fmt.Sprintf("%+v", e.ExceptionDetails))
	}
}

func (b *browser) wantNoErrors() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, problem := range b.errors {
		b.Error("the browser reports: ", problem)
	}
	b.errors = nil
}

// wantStatus waits until the browser reports a response with this status, which then no longer counts as an error. The
// report may come after the page.
func (b *browser) wantStatus(status int) {
	b.Helper()
	want := fmt.Sprintf("status of %d", status)
	b.until("the browser reports a "+want, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		at := slices.IndexFunc(b.errors, func(text string) bool { return strings.Contains(text, want) })
		if at >= 0 {
			b.errors = slices.Delete(b.errors, at, at+1)
		}
		return at >= 0
	})
}

// until is wait.Eventually that logs what the page shows when it waits in vain, and ends with the tab.
func (b *browser) until(what string, holds func() bool) {
	b.Helper()
	held := false
	defer func() {
		if !held {
			text, err := b.reads()
			b.Logf("the page shows (%v)\n%s", err, text)
		}
	}()
	wait.Eventually(b.T, what, func() bool {
		if err := b.ctx.Err(); err != nil {
			b.Fatalf("the tab has ended (%v) before: %s", err, what)
		}
		return holds()
	})
	held = true
}

func (b *browser) open(path string) {
	b.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.Navigate(b.base+path)))
}

// looks sets the width of the screen, the color scheme, and the language of the pages.
func (b *browser) looks(look look) {
	b.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.EmulateViewport(look.width, 800)))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.scheme}},
	})
	b.must(err)
	b.press(fmt.Sprintf("footer button[value=%q]", look.language))
}

// withoutScripts disables scripts.
func (b *browser) withoutScripts() {
	b.Helper()
	_, err := chromedp.Call(
		b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true},
	)
	b.must(err)
}

// reads is what a person reads in the page's main part. It fails while the browser goes from one page to the next.
func (b *browser) reads() (string, error) {
	return chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.querySelector("main")?.innerText ?? ""`))
}

// text is what a person reads in the page's main part.
func (b *browser) text() (text string) {
	b.Helper()
	b.until("the page can be read", func() (ok bool) {
		var err error
		text, err = b.reads()
		return err == nil
	})
	return text
}

// shows waits until the page shows a text.
func (b *browser) shows(want string) {
	b.Helper()
	b.until(fmt.Sprintf("the page shows %q", want), func() bool {
		text, err := b.reads()
		return err == nil && strings.Contains(text, want)
	})
}

// becomes reloads the page until it shows a text, as a person without scripts does.
func (b *browser) becomes(want string) {
	b.Helper()
	b.until(fmt.Sprintf("the page shows %q after a load", want), func() bool {
		if text, err := b.reads(); err == nil && strings.Contains(text, want) {
			return true
		}
		time.Sleep(200 * time.Millisecond)
		_ = chromedp.Do(b.ctx, chromedp.Reload())
		return false
	})
}

// refused waits until the page says that something was refused: the code is under the details.
func (b *browser) refused(code string) {
	b.Helper()
	b.eventually(`document.querySelector(".problem details code")?.textContent == "` + code + `"`)
	b.hides(code)
}

// hides expects the page not to show a text.
func (b *browser) hides(text string) {
	b.Helper()
	if all := b.text(); strings.Contains(all, text) {
		b.Errorf("the page shows %q:\n%s", text, all)
	}
}

// eventually waits until a script in the page returns true.
func (b *browser) eventually(script string) {
	b.Helper()
	b.until(script, func() bool { return b.asks(script) })
}

// asks evaluates a condition; false while the page changes.
func (b *browser) asks(condition string) bool {
	holds, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](condition))
	return err == nil && holds
}

// isLive waits until the page is connected to its events.
func (b *browser) isLive() {
	b.Helper()
	b.eventually(`document.querySelector("[data-link].on") !== null`)
}

// press presses the button or link with this selector and waits for the next page.
func (b *browser) press(selector string) {
	b.Helper()
	_, err := chromedp.RunResponse(b.ctx, chromedp.Click(chromedp.CSS(selector)))
	b.must(err)
}

// evaluate runs a script in the page, as a developer's console does.
func evaluate[T any](b *browser, script string, options ...chromedp.EvaluateOption) T {
	b.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, options...))
	b.must(err)
	return value
}

// axe is the source of the accessibility checker, which make test-deps fetches; empty: it could not.
var axe = sync.OnceValue(func() string {
	found, _ := filepath.Glob("../../bin/tools/axe-*/axe.min.js")
	if len(found) == 0 {
		return ""
	}
	script, _ := os.ReadFile(found[len(found)-1])
	return string(script)
})

// accessible checks the open page against the accessibility rules.
func (b *browser) accessible(where string) {
	b.Helper()
	if axe() == "" {
		return
	}

	evaluate[any](b, axe()+"; 0")
	problems := evaluate[[]string](b, `axe.run(document, {resultTypes: ["violations"]}).then((all) =>
		all.violations.map((v) => v.id + ": " + v.help + " " + v.nodes.map((n) => n.html).join(" ").slice(0, 400)))`,
		chromedp.EvalAwaitPromise)

	for _, problem := range problems {
		b.Errorf("%s: %s", where, problem)
	}
}

// click clicks what an XPath finds, on a page that stays.
func (b *browser) click(path string) {
	b.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.Click(path)))
}

// fill types into a field.
func (b *browser) fill(selector, text string) {
	b.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.SendKeys(chromedp.CSS(selector), text)))
}

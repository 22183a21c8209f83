package pages

import (
	"context"
	"fmt"
	"os"
	"os/exec"
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
	if _, err := exec.LookPath("chromium"); err != nil {
		return nil, err
	}

	allocated, _ := chromedp.NewExecAllocator(
		context.Background(), append(
			chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath("chromium"),
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

// wantStatus expects the browser to have reported a response with this status, and nothing else.
func (b *browser) wantStatus(status int) {
	b.Helper()
	want := fmt.Sprintf("status of %d", status)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		b.mu.Lock()
		reported := slices.ContainsFunc(b.errors, func(text string) bool { return strings.Contains(text, want) })
		b.errors = slices.DeleteFunc(b.errors, func(text string) bool { return strings.Contains(text, want) })
		b.mu.Unlock()
		if reported {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("the browser reports no %s", want)
		}
	}
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

// text is what a person reads in the page's main part.
func (b *browser) text() string {
	b.Helper()
	return evaluate[string](b, `document.querySelector("main")?.innerText ?? ""`)
}

// shows waits until the page shows a text.
func (b *browser) shows(want string) {
	b.Helper()
	var text string
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if text = b.text(); strings.Contains(text, want) {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("the page does not show %q:\n%s", want, text)
		}
	}
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
	for deadline := time.Now().Add(time.Minute); !evaluate[bool](b, script); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("the page never has %s:\n%s", script, b.text())
		}
	}
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

func (b *browser) reload() {
	b.Helper()
	time.Sleep(200 * time.Millisecond)
	b.must(chromedp.Do(b.ctx, chromedp.Reload()))
}

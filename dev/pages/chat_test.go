package pages

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAChatWithTheBot is the demonstration as a person plays it: commands are typed, a file is chosen with the bot's
// buttons, and it arrives.
func TestAChatWithTheBot(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, running.Info.StandIns.Telegram)
	b.open("/_/chats/1001")
	b.fill("#text", "/files\n")
	b.shows("small.txt")
	b.click(`//button[contains(., "small.txt")]`)
	b.shows("Folder:")
	b.click(`//button[contains(., "Download")]`)
	b.shows("Delivered")
	if !evaluate[bool](b, `document.querySelector('main a[href$="/document"]') !== null`) {
		t.Errorf("there is no document to open:\n%s", b.text())
	}
	b.accessible("the chat")
}

// click presses what an XPath finds, on a page that stays.
func (b *browser) click(path string) {
	b.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.Click(path)))
}

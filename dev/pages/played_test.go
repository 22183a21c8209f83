package pages

import (
	"net/url"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"stagecoach/dev/night"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/sim/torrentsim"
)

// TestNightPlayedInRussian uses the service with the keyboard, in Russian: it sends a file, works through a graph of
// tasks, downloads a book, buys Stars, and has an administrator retry a failed purchase.
func TestNightPlayedInRussian(t *testing.T) {
	night.Only(t)
	t.Parallel()
	b := newBrowser(t, running.Info.API)
	b.entersInRussian(running.Info.UserToken)

	b.follows(`nav a[href="/files"]`)
	b.follows(`li form button[aria-label="Прислать в чат: small.txt"]`)
	b.shows("доставлено")

	b.follows(`nav a[href="/tasks"]`)
	b.follows(`a[href="/tasks/workspaces"]`)
	b.enters("#name", "Двор")
	b.follows(`a[href^="/tasks/batch"]`)
	b.types("#tasks", `[{"ref": "plan", "title": "Начертить план"}, {"title": "Построить дом", "blocked_by": ["plan"]}]`)
	b.follows("main form .primary")
	for _, node := range []string{"svg a:first-of-type", "svg a:last-of-type"} {
		b.follows(node)
		b.types("#comment", "берусь")
		b.follows(`button[value="claim"]`)
		b.shows("новая → в работе")
		b.types("#comment", "готово")
		b.follows(`button[value="DONE"]`)
		b.shows("Задача закончена")
	}

	b.follows(`nav a[href="/books"]`)
	b.follows(`a[href="/books/new"]`)
	b.enters("#title", "О дорогах")
	b.types("#source_url", seed(t, torrentsim.TorrentSpec{Name: "roads.epub", Size: 1 << 20}))
	b.follows(`form[method="post"] button[value="text"]`)
	b.shows("Завершена")

	b.follows(`nav a[href="/stars"]`)
	b.enters("#number", "57")
	b.eventually(`document.querySelector('a[href^="ton:"]') !== null`)
	b.shows("Звёзд: 57")
	order, err := url.Parse(evaluate[string](b, `document.querySelector('a[href^="ton:"]').getAttribute("href")`))
	b.must(err)
	nano, err := strconv.ParseInt(order.Query().Get("amount"), 10, 64)
	b.must(err)
	_, err = running.Chain.Deposit(tonsim.Deposit{AmountNano: nano, Comment: order.Query().Get("text")})
	b.must(err)
	b.follows(`nav a[href="/stars"]`)
	b.eventually(`[...document.querySelectorAll("main li")].some((li) => li.innerText.includes("57") && li.innerText.includes("куплены"))`)

	hash := unlucky(t, "shy_russian")
	b.must(running.Fragment.SetUser("shy_russian", "user"))
	admin := newBrowser(t, running.Info.API)
	admin.entersInRussian(administrator(t, "Анна"))
	admin.follows(`nav a[href="/transactions"]`)
	admin.follows(`a[href="/transactions/` + hash + `"]`)
	admin.types("#comment-retry", "теперь можно")
	admin.follows(`form[action$="/retry"] button`)
	admin.shows("платёж принят получателем")
}

// entersInRussian chooses the language and signs in.
func (b *browser) entersInRussian(token string) {
	b.Helper()
	b.open("/")
	b.follows(`footer button[value="ru"]`)
	b.eventually(`document.documentElement?.lang === "ru"`)
	b.enters("#token", token)
	b.shows("Главная")
}

// follows goes to a link or a button with Tab, presses Enter, and waits for the next page.
func (b *browser) follows(selector string) {
	b.Helper()
	b.tabTo(selector)
	b.goes(kb.Enter)
}

// enters goes to a field with Tab, types into it, presses Enter, and waits for the next page.
func (b *browser) enters(selector, text string) {
	b.Helper()
	b.tabTo(selector)
	b.goes(text + kb.Enter)
}

// types goes to a field with Tab and types into it.
func (b *browser) types(selector, text string) {
	b.Helper()
	b.tabTo(selector)
	b.keys(text)
}

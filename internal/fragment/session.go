package fragment

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"stagecoach/internal/ton"
)

// profilePage shows who is logged in. It starts nothing.
const profilePage = "/my/profile"

// SessionWallet tells which wallet the session is connected to, as Fragment's own page shows it. shown is false where
// the page shows none: nobody is logged in then, or the page has another form by now.
func (c *Client) SessionWallet(ctx context.Context) (wallet ton.Address, shown bool, err error) {
	page, err := c.send(ctx, "profile", http.MethodGet, c.o.URL+profilePage, "")
	if c.o.OnResult != nil && ctx.Err() == nil {
		c.o.OnResult(err)
	}
	if err != nil {
		return ton.Address{}, false, err
	}
	wallet, shown = connectedWallet(string(page))
	return wallet, shown, nil
}

// The menu of a page has the address of the connected wallet in two halves, for a narrow screen to leave the middle
// out.
var accountAddress = regexp.MustCompile(`tm-menu-account-address[\s\S]{0,200}?` +
	`class="head">([\w-]{1,48})</span>[\s\S]{0,100}?class="tail">([\w-]{1,48})</span>`)

// connectedWallet finds the connected wallet in a page.
func connectedWallet(page string) (ton.Address, bool) {
	found := accountAddress.FindStringSubmatch(page)
	if found == nil {
		return ton.Address{}, false
	}
	wallet, _, err := ton.ParseAddress(strings.Join(found[1:], ""))
	return wallet, err == nil
}

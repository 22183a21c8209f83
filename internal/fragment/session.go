package fragment

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"stagecoach/internal/ton"
)

// profilePage shows the account of the session. Reading it starts nothing.
const profilePage = "/my/profile"

// SessionWallet returns the wallet that the session is connected to, as Fragment's own page shows it. shown is false
// when the page shows none: the session is not logged in, or the page has changed.
func (c *Client) SessionWallet(ctx context.Context) (wallet ton.Address, shown bool, err error) {
	page, err := c.send(ctx, "profile", "", http.MethodGet, c.o.URL+profilePage, "")
	c.o.Ended(ctx, err)
	if err != nil {
		return ton.Address{}, false, err
	}
	wallet, shown = connectedWallet(string(page))
	return wallet, shown, nil
}

// accountAddress finds the address of the connected wallet in the menu of a page, in two halves: a narrow screen hides
// the middle.
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

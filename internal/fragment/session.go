package fragment

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"stagecoach/internal/ton"
)

// profilePage shows the session's account. Reading it has no side effects.
const profilePage = "/my/profile"

// SessionWallet returns the wallet to which the session is connected, according to Fragment's own page. shown is false
// if the page shows none: the session is not logged in, or the page has changed.
func (c *Client) SessionWallet(ctx context.Context) (wallet ton.Address, shown bool, err error) {
	page, err := c.send(ctx, "profile", "", http.MethodGet, c.o.URL+profilePage, "")
	c.o.Ended(ctx, err)
	if err != nil {
		return ton.Address{}, false, err
	}

	found := accountAddress.FindStringSubmatch(string(page))
	if found == nil {
		return ton.Address{}, false, nil
	}
	wallet, _, err = ton.ParseAddress(strings.Join(found[1:], ""))
	return wallet, err == nil, nil
}

// accountAddress finds the connected wallet's address in the menu of a page, in two halves: a narrow screen hides the
// middle.
var accountAddress = regexp.MustCompile(`tm-menu-account-address[\s\S]{0,200}?` +
	`class="head">([\w-]{1,48})</span>[\s\S]{0,100}?class="tail">([\w-]{1,48})</span>`)

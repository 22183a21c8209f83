package fragment

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"stagecoach/internal/fault"
	"stagecoach/internal/outbound"
)

const (
	maxAnswer = 8 << 20 // bytes per answer; the page takes about 100 KiB
	starsPage = "/stars/buy"
	userAgent = "Mozilla/5.0 (X11; Linux x86_64) stagecoach"
)

// call makes one API call and reports its result to the Observer. name is the user concerned by the call; empty: none.
// An answer may repeat it.
func (c *Client) call(ctx context.Context, method, name string, form url.Values, into any) error {
	err := c.twice(ctx, method, name, form, into)
	c.o.Ended(ctx, err)
	return err
}

// twice makes one call. It retries once if an old page hash may have caused a refusal and the page now has another
// hash.
func (c *Client) twice(ctx context.Context, method, name string, form url.Values, into any) error {
	form.Set("method", method)
	hash, err := c.pageHash(ctx, "")
	if err != nil {
		return err
	}

	err = c.post(ctx, method, hash, name, form, into)
	switch fault.CodeOf(err) {
	case fault.FragmentUnauthorized, fault.FragmentRefused, fault.FragmentProtocol:
		if fresh, pageErr := c.pageHash(ctx, hash); pageErr == nil && fresh != hash {
			return c.post(ctx, method, fresh, name, form, into)
		}
	}

	return err
}

var apiHash = regexp.MustCompile(`api\?hash=([a-f0-9]+)`)

// pageHash returns the hash that calls need. It reads the page unless it has a hash other than refused.
func (c *Client) pageHash(ctx context.Context, refused string) (string, error) {
	c.mu.Lock()
	known := c.hash
	c.mu.Unlock()
	if known != "" && known != refused {
		return known, nil
	}

	page, err := c.send(ctx, "page", "", http.MethodGet, c.o.URL+starsPage, "")
	if err != nil {
		return "", err
	}

	found := apiHash.FindSubmatch(page)
	if found == nil {
		return "", protocolFault("a page without a hash")
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	c.hash = string(found[1])
	return c.hash, nil
}

// no are the forms of a field that is empty or false.
var no = []string{"", "null", "false", "0", `""`}

func (c *Client) post(ctx context.Context, method, hash, name string, form url.Values, into any) error {
	answer, err := c.send(ctx, method, name, http.MethodPost, c.o.URL+"/api?hash="+hash, form.Encode())
	if err != nil {
		return err
	}

	var common struct {
		Error      anything        `json:"error"`
		NeedVerify bool            `json:"need_verify"`
		NeedTON    json.RawMessage `json:"need_ton"` // its form is unknown
	}

	switch err := json.Unmarshal(answer, &common); {
	case err != nil:
		return protocolFault("no JSON")
	case common.Error != "":
		return textFault(string(common.Error), name)
	case common.NeedVerify:
		return row(fault.FragmentVerify).fault()
	case !slices.Contains(no, string(common.NeedTON)):
		return noWallet.fault()
	}

	if err := json.Unmarshal(answer, into); err != nil {
		return protocolFault("JSON of another shape")
	}
	return nil
}

// send makes one request, within the rate limit, and reads its complete answer.
func (c *Client) send(ctx context.Context, op, name, method, address, form string) ([]byte, error) {
	if err := c.limiter.Wait(ctx); err != nil {
		return nil, transportFault(ctx, errors.Join(context.DeadlineExceeded, err))
	}

	request, err := http.NewRequest(method, address, strings.NewReader(form))
	if err != nil {
		return nil, protocolFault("an address that cannot be used")
	}

	request.Header.Set("User-Agent", userAgent)
	if header := c.o.Cookies.header(); header != "" {
		request.Header.Set("Cookie", header)
	}

	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8")
		request.Header.Set("X-Requested-With", "XMLHttpRequest")
		request.Header.Set("Origin", c.o.URL)
		request.Header.Set("Referer", c.o.URL+starsPage)
	}

	answer, err := c.out.Do(ctx, op, request)
	switch {
	case err != nil && !errors.Is(err, outbound.ErrTooLong):
		return nil, transportFault(ctx, err)
	case answer.Status != http.StatusOK:
		return nil, statusFault(answer, name)
	case err != nil:
		return nil, protocolFault("an answer that is too long")
	}

	return answer.Body, nil
}

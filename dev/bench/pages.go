package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"stagecoach/api/parts"
	"stagecoach/internal/store/account"
)

const (
	pagesMany  = 10_000 // tasks and downloads; ten times as many deliveries and transactions
	pagesFew   = 10
	pagesRuns  = 40  // of each page
	pagesFirst = 3   // views that are not counted
	pagesAim   = 200 // milliseconds
)

// measurePages opens every page of the parts' list over a large record and over a small one, by turns: the customer's
// pages as the customer, the others as an administrator.
func measurePages(ctx context.Context, m *machine) (rows []row, err error) {
	err = m.withRig(ctx, rigOptions{}, func(r *rig) error {
		customer, admin := account.NewToken(), account.NewToken()
		large, err := r.pagesOver(ctx, "pages_large", pagesMany, customer, admin)
		if err != nil {
			return err
		}
		defer large.api.stop()

		small, err := r.pagesOver(ctx, "pages_small", pagesFew, customer, admin)
		if err != nil {
			return err
		}
		defer small.api.stop()

		for _, who := range []string{customer, admin} {
			if err := large.signIn(ctx, who); err != nil {
				return err
			}
			if err := small.signIn(ctx, who); err != nil {
				return err
			}

			for _, route := range pageRoutes() {
				name := map[string]string{customer: "a customer", admin: "an administrator"}[who]
				ours, baseline, err := takeTurns(ctx, large, small, route)
				if err != nil {
					return fmt.Errorf("%s: %w", route, err)
				}
				if ours == nil {
					continue // not for this person, or nothing leads there
				}
				what := fmt.Sprintf("GET %s as %s, ", route, name)
				const against = "the same over a thousandth of the record"
				rows = append(rows,
					measured(what+"p50", "ms", ours...).against(against, baseline...),
					measured(what+"p95", "ms", quantile(ours, 0.95)).against(against, quantile(baseline, 0.95)).atMost(pagesAim),
				)
			}
		}

		return nil
	})

	return rows, err
}

// pageRoutes lists the pages of the parts, and home.
func pageRoutes() []string {
	routes := []string{"/"}
	for _, part := range parts.Web() {
		for _, page := range part.Pages {
			routes = append(routes, page.Route)
		}
	}
	return routes
}

// site is an API over one record, as one person sees it.
type site struct {
	api    *process
	url    string
	client *http.Client
	found  map[string]string // a path of each route that has been met
}

// pagesOver starts an API over a record of this size.
func (r *rig) pagesOver(ctx context.Context, database string, n int, customer, admin string) (*site, error) {
	address, err := r.fillPages(ctx, database, n, customer, admin)
	if err != nil {
		return nil, err
	}
	api, err := r.startAPI(ctx, map[string]string{
		"DATABASE_URL": address, "STAGECOACH_LIMIT_REQUESTS": "0", "STAGECOACH_LISTING_TTL": "24h",
	})
	return &site{api: api, url: r.apiURL}, err
}

func (s *site) signIn(ctx context.Context, token string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}

	s.client, s.found = &http.Client{Jar: jar}, map[string]string{}
	form := strings.NewReader(url.Values{"token": {token}}.Encode())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/sign-in", form)
	if err != nil {
		return err
	}

	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// open opens a page and says how long that took; "": it was refused.
func (s *site) open(ctx context.Context, path string) (text string, took float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return "", 0, err
	}

	began := time.Now()
	response, err := s.client.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()

	page, err := io.ReadAll(response.Body)
	took = milliseconds(time.Since(began))
	if response.StatusCode >= http.StatusInternalServerError {
		return "", 0, fmt.Errorf("%s answers %s", path, response.Status)
	}
	if response.StatusCode != http.StatusOK {
		return "", 0, err
	}
	return string(page), took, err
}

var pageLinks = regexp.MustCompile(`href="(/[^"?]*)"`)

// pathOf is the path of a page of this route: the first one that the pages before lead to; "": none does.
func (s *site) pathOf(ctx context.Context, route string) (string, error) {
	path := route
	if strings.Contains(route, "{") {
		path = s.found[route]
	}
	if path == "" {
		return "", nil
	}

	text, _, err := s.open(ctx, path)
	if err != nil || text == "" {
		return "", err
	}

	mux := http.NewServeMux()
	for _, other := range pageRoutes() {
		mux.HandleFunc(other, func(http.ResponseWriter, *http.Request) {})
	}
	for _, match := range pageLinks.FindAllStringSubmatch(text, -1) {
		_, pattern := mux.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: match[1]}})
		if s.found[pattern] == "" {
			s.found[pattern] = match[1]
		}
	}
	return path, nil
}

// takeTurns opens a page of a route in two sites by turns; nil: the person cannot open it.
func takeTurns(ctx context.Context, large, small *site, route string) (ours, baseline []float64, err error) {
	paths := map[*site]string{}
	for _, s := range []*site{large, small} {
		if paths[s], err = s.pathOf(ctx, route); err != nil || paths[s] == "" {
			return nil, nil, err
		}
	}

	took := map[*site][]float64{}
	for range pagesFirst + pagesRuns {
		for _, s := range []*site{large, small} {
			_, ms, err := s.open(ctx, paths[s])
			if err != nil {
				return nil, nil, err
			}
			took[s] = append(took[s], ms)
		}
	}
	return slices.Clip(took[large][pagesFirst:]), took[small][pagesFirst:], nil
}

package main

import (
	"context"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
)

const (
	scaleViews = 20 // of each page
	scaleFirst = 3  // views that are not counted
)

// measureScalePages opens every page over the filled record, with each filter and the next part of each list that a page
// links to: as the customer who has most of the rows, and as an administrator.
func measureScalePages(ctx context.Context, m *machine, events int, customer, admin string) (rows []row, err error) {
	err = m.withRig(ctx, rigOptions{withoutWorker: true}, func(r *rig) error {
		api, err := r.startAPI(ctx, map[string]string{"STAGECOACH_LIMIT_REQUESTS": "0", "STAGECOACH_LISTING_TTL": "24h"})
		if err != nil {
			return err
		}
		defer api.stop()

		for _, who := range []struct{ name, token string }{{"a customer", customer}, {"an administrator", admin}} {
			s := &site{api: api, url: r.apiURL}
			if err := s.signIn(ctx, who.token); err != nil {
				return err
			}

			for _, route := range pageRoutes() {
				took, slowest, err := s.openAll(ctx, route)
				if err != nil {
					return fmt.Errorf("%s: %w", route, err)
				}
				if took == nil {
					continue // not for this person, or nothing leads there
				}

				m.say("GET %s as %s: p95 %.1f ms, the slowest is %s", route, who.name, quantile(took, 0.95), slowest)
				name := fmt.Sprintf("GET %s as %s with %d events, ", route, who.name, events)
				rows = append(rows, measured(name+"p50", "ms", took...), measured(name+"p95", "ms", quantile(took, 0.95)).atMost(scaleAim))
			}
		}

		return nil
	})

	return rows, err
}

// openAll opens a page of a route, and the same page as each of its links to itself asks for it. It returns the times of
// the slowest of these by their medians; nil: the person cannot open it.
func (s *site) openAll(ctx context.Context, route string) (took []float64, slowest string, err error) {
	path, err := s.pathOf(ctx, route)
	if err != nil || path == "" {
		return nil, "", err
	}
	text, _, err := s.open(ctx, path)
	if err != nil || text == "" {
		return nil, "", err
	}

	for _, link := range append(linksToItself(text, path), path) {
		var views []float64
		for range scaleFirst + scaleViews {
			_, ms, err := s.open(ctx, link)
			if err != nil {
				return nil, "", err
			}
			views = append(views, ms)
		}
		if views = views[scaleFirst:]; median(views) > median(took) {
			took, slowest = views, link
		}
	}
	return took, slowest, nil
}

var queryLinks = regexp.MustCompile(`href="([^"]*\?[^"]*)"`)

// linksToItself are the links of a page to itself with a query: filters, and the next part of a list.
func linksToItself(text, path string) (links []string) {
	for _, match := range queryLinks.FindAllStringSubmatch(text, -1) {
		link := html.UnescapeString(match[1])
		if to, query, _ := strings.Cut(link, "?"); to == path || to == "" {
			links = append(links, path+"?"+query)
		}
	}
	slices.Sort(links)
	return slices.Compact(links)
}

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"stagecoach/dev/sim/yandexsim"
	"stagecoach/internal/catalog"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/yandex"
)

const (
	listingEntries = 10_000
	listingPage    = 50
	listingAnew    = 15 // requests that each wait for the storage
	listingFirst   = 10
	listingLatency = 200 * time.Millisecond
	listingFolder  = "/big"
)

// measureListing pages through a large folder of a slow storage, with the catalog itself and over HTTP: from the
// record, with an outdated record, and on a first visit.
func measureListing(ctx context.Context, m *machine) (rows []row, err error) {
	err = m.withRig(ctx, rigOptions{yandex: yandexsim.Options{Latency: listingLatency}}, func(r *rig) error {
		if err := r.fillFolder(); err != nil {
			return err
		}

		upstream := yandex.New(yandex.Options{APIURL: r.ground.StandIns.Yandex, Root: "disk:/", Tokens: fixedToken(accessToken)})
		bare, err := walk(listingAnew, func(offset int) error {
			page, err := upstream.List(ctx, listingFolder, listingPage, offset)
			return full(len(page.Items), err)
		})
		if err != nil {
			return err
		}

		for _, part := range []struct {
			name     string
			requests int
			limit    float64 // milliseconds
			measure  func(context.Context, catalog.Upstream, int) (byCatalog, byHTTP []float64, err error)
		}{
			{"from the record", listingEntries / listingPage, 50, r.listRecorded},
			{"out of date", listingAnew, 500, r.listAnew},
			{"first visit", listingFirst, 500, r.listFirst},
		} {
			byCatalog, byHTTP, err := part.measure(ctx, upstream, part.requests)
			if err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
			const storage = "the storage alone, p95"
			name := fmt.Sprintf("listing of %d, %s, ", listingEntries, part.name)
			rows = append(rows, percentile95(name+"catalog, p95", byCatalog, bare, storage).atMost(part.limit))
			if byHTTP != nil {
				rows = append(rows, percentile95(name+"GET /v1/files, p95", byHTTP, bare, storage).atMost(part.limit))
			}
		}

		return nil
	})

	return rows, err
}

func percentile95(name string, ours, baseline []float64, against string) row {
	return measured(name, "ms", quantile(ours, 0.95)).against(against, quantile(baseline, 0.95))
}

// fixedToken is a storage's token that never changes.
type fixedToken string

// AccessToken implements yandex.Tokens.
func (t fixedToken) AccessToken(context.Context, string) (string, error) { return string(t), nil }

func (r *rig) fillFolder() error {
	folder := filepath.Join(r.files, filepath.FromSlash(listingFolder))
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	for i := range listingEntries {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("entry %05d.txt", i)), []byte("x"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// walk requests page after page and returns how long each took in milliseconds.
func walk(requests int, page func(offset int) error) (took []float64, err error) {
	for i := range requests {
		began := time.Now()
		if err := page(i * listingPage); err != nil {
			return nil, err
		}
		took = append(took, milliseconds(time.Since(began)))
	}
	return took, nil
}

// full returns an error unless a page has all its entries.
func full(entries int, err error) error {
	if err == nil && entries != listingPage {
		err = fmt.Errorf("a page of the listing has %d entries instead of %d", entries, listingPage)
	}
	return err
}

func (r *rig) listRecorded(
	ctx context.Context, upstream catalog.Upstream, requests int,
) (byCatalog, byHTTP []float64, err error) {
	return r.list(ctx, upstream, requests, time.Hour, r.awaitRecord)
}

func (r *rig) listAnew(
	ctx context.Context, upstream catalog.Upstream, requests int,
) (byCatalog, byHTTP []float64, err error) {
	return r.list(ctx, upstream, requests, time.Millisecond, func(context.Context) error { return nil })
}

// list pages with the catalog, then over HTTP; prime is called after a first request of each.
func (r *rig) list(
	ctx context.Context, upstream catalog.Upstream, requests int, ttl time.Duration, prime func(context.Context) error,
) (byCatalog, byHTTP []float64, err error) {
	files := catalog.New(catalog.Options{Store: r.store, Upstream: upstream, TTL: ttl})
	defer files.Close()

	byCatalog, err = primed(ctx, requests, prime, func(offset int) error {
		listing, err := files.Folder(ctx, listingFolder, listingPage, offset)
		return full(len(listing.Files), err)
	})
	if err != nil {
		return nil, nil, err
	}

	api, err := r.startAPI(ctx, map[string]string{"STAGECOACH_LISTING_TTL": ttl.String()})
	if err != nil {
		return nil, nil, err
	}
	defer api.stop()

	cursor := ""
	byHTTP, err = primed(ctx, requests, prime, func(offset int) error {
		if offset == 0 {
			cursor = ""
		}
		var page struct {
			Items      []struct{}
			NextCursor string `json:"next_cursor"`
		}
		err := r.getFiles(ctx, cursor, &page)
		cursor = page.NextCursor
		return full(len(page.Items), err)
	})

	return byCatalog, byHTTP, err
}

func primed(
	ctx context.Context, requests int, prime func(context.Context) error, page func(offset int) error,
) ([]float64, error) {
	if err := page(0); err != nil {
		return nil, err
	}
	if err := prime(ctx); err != nil {
		return nil, err
	}
	return walk(requests, page)
}

func (r *rig) getFiles(ctx context.Context, cursor string, into any) error {
	query := url.Values{"path": {listingFolder}, "limit": {fmt.Sprint(listingPage)}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.apiURL+"/v1/files?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+adminToken)
	return answer(request, into)
}

// awaitRecord waits until the complete folder was read in the background.
func (r *rig) awaitRecord(ctx context.Context) error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		at, err := r.store.ListedAt(ctx, listingFolder)
		if err != nil || at.Unix() > 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the folder was not read in the background")
		}
	}
}

// listFirst opens the folder as on a first visit: only its name is known, from the folder above.
func (r *rig) listFirst(
	ctx context.Context, upstream catalog.Upstream, requests int,
) (byCatalog, byHTTP []float64, err error) {
	for range requests {
		if err := r.store.DropFolder(ctx, listingFolder); err != nil {
			return nil, nil, err
		}

		entry := delivery.File{Path: listingFolder, Parent: "/", Name: listingFolder[1:], IsFolder: true, ModifiedAt: time.Now()}
		if _, err := r.store.SaveFiles(ctx, []delivery.File{entry}); err != nil {
			return nil, nil, err
		}

		files := catalog.New(catalog.Options{Store: r.store, Upstream: upstream})
		took, err := walk(1, func(offset int) error {
			listing, err := files.Folder(ctx, listingFolder, listingPage, offset)
			return full(len(listing.Files), err)
		})

		files.Close()
		if err != nil {
			return nil, nil, err
		}

		byCatalog = append(byCatalog, took...)
	}

	return byCatalog, nil, nil
}

package catalog

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/delivery"
)

const (
	wholeTree = "*" // stands for all folders among the listings; not a valid path
	maxWords  = 255 // bytes: the longest name
)

// Search finds known entries by a part of their name. A tree that was not read for a while is read in the background.
// indexing means that the tree is being read for the first time, so that more entries may be found soon.
func (c *Catalog) Search(
	ctx context.Context, words string, limit, offset int,
) (files []delivery.File, indexing bool, err error) {
	words = strings.TrimSpace(words)
	if words == "" || len(words) > maxWords || !utf8.ValidString(words) || strings.ContainsFunc(words, unicode.IsControl) {
		return nil, false, fault.New(fault.Validation, "give 1 to 255 bytes of a name to search for").WithField("q")
	}

	limit, offset = min(max(limit, 1), upstreamPage), max(offset, 0)
	crawledAt, err := c.o.Store.ListedAt(ctx, wholeTree)
	if err != nil {
		return nil, false, err
	}

	if time.Since(crawledAt) > crawlEvery {
		ended := c.crawlLater()
		if crawledAt.Unix() <= 0 {
			select { // a small tree takes only a moment
			case <-ended:
			case <-ctx.Done():
				indexing = true
			case <-time.After(crawlPatience):
				indexing = true
			}
		}
	}

	files, err = c.o.Store.SearchFiles(ctx, words, limit, offset)
	return files, indexing, err
}

// crawlLater reads the complete tree in the background, once at a time; the channel is closed at the end.
func (c *Catalog) crawlLater() <-chan struct{} {
	ended := make(chan struct{})
	c.inBackground(func(ctx context.Context) {
		defer close(ended)
		_, err, _ := c.flight.Do(wholeTree, func() (any, error) {
			ctx, cancel := context.WithTimeout(ctx, crawlTime)
			defer cancel()

			// An earlier crawl may have ended after the caller read when the last one was.
			if at, err := c.o.Store.ListedAt(ctx, wholeTree); err != nil || time.Since(at) <= crawlEvery {
				return nil, err
			}
			return nil, c.crawl(ctx)
		})
		if err != nil && ctx.Err() == nil {
			c.o.Log.Warn("reading the shared folder for a search failed", "error", err)
		}
	})

	return ended
}

// crawl reads all folders, level by level.
func (c *Catalog) crawl(ctx context.Context) error {
	for level := []string{"/"}; len(level) > 0; {
		below := make([][]string, len(level))
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(crawlFolders)
		for i, path := range level {
			group.Go(func() (err error) {
				below[i], err = c.refresh(ctx, path)
				if fault.CodeOf(err) == fault.FileNotFound && path != "/" {
					return nil // it was deleted since its parent was read
				}
				return err
			})
		}

		if err := group.Wait(); err != nil {
			return err
		}

		level = nil
		for _, paths := range below {
			level = append(level, paths...)
		}
	}

	return c.o.Store.MarkListed(ctx, wholeTree)
}

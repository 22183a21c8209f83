package service

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/shelf"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
	"stagecoach/internal/torrent"
	"stagecoach/internal/torznab"
)

// Limits of a book, in characters.
const (
	MaxBookTitle  = 500
	MaxBookAuthor = 500
)

// CreateBook adds a book to the library. key may be empty; the same key returns the book that the first request has
// created.
func (c *Downloads) CreateBook(
	ctx context.Context, user account.User, title, author, key string,
) (download.Book, error) {
	title, author = strings.TrimSpace(title), strings.TrimSpace(author)
	switch {
	case strings.ContainsFunc(title+author, unicode.IsControl):
		return download.Book{}, fault.Invalid("title", "a book's title and author are one line each")
	case title == "" || utf8.RuneCountInString(title) > MaxBookTitle:
		return download.Book{}, fault.Invalid("title", "a title has 1 to %d characters", MaxBookTitle)
	case utf8.RuneCountInString(author) > MaxBookAuthor:
		return download.Book{}, fault.Invalid("author", "an author's name has at most %d characters", MaxBookAuthor)
	}

	return c.Store.Downloads.CreateBook(ctx, title, author, core.Request{
		UserID: user.ID, Key: key, Asked: fmt.Sprintf("book %q %q", title, author),
	})
}

// Book returns a book; all users share the library.
func (c *Downloads) Book(ctx context.Context, id int64) (download.Book, error) {
	return c.Store.Downloads.BookByID(ctx, id)
}

// Books returns books, the newest first.
func (c *Downloads) Books(ctx context.Context, f download.BookFilter) ([]download.Book, error) {
	if !utf8.ValidString(f.Words) || strings.ContainsFunc(f.Words, unicode.IsControl) {
		return nil, fault.Invalid("q", "what is searched for is text of one line")
	}
	return c.Store.Downloads.Books(ctx, f)
}

// Files returns the files that the library folder has of books, in reading order.
func (c *Downloads) Files(ctx context.Context, books ...int64) ([]download.LibraryFile, error) {
	return c.Store.Downloads.FilesOf(ctx, books)
}

// MarkMedium records that a person has found a medium missing, or has deleted it, and returns the book as it is then.
// Only administrators may do this.
func (c *Downloads) MarkMedium(
	ctx context.Context, user account.User, book int64, mediaType, status string,
) (download.Book, error) {
	switch {
	case !user.IsAdmin():
		return download.Book{}, fault.New(fault.InsufficientAccess, "only administrators may do this")
	case status != download.MediaDeleted && status != download.MediaMissing:
		return download.Book{}, fault.Invalid("status", "a person marks a medium as deleted or as missing")
	}

	if _, err := c.Store.Downloads.ChangeMedium(ctx, download.MediumChange{BookID: book, MediaType: mediaType, To: status, ActorID: &user.ID}); err != nil {
		return download.Book{}, err
	}
	return c.Store.Downloads.BookByID(ctx, book)
}

// Indexers search for releases. It is a *torznab.Client.
type Indexers interface {
	Search(ctx context.Context, words, medium string) torznab.Found
}

// searchRate is how often a user may search: each search is a request to every indexer, which ban who asks too often.
var searchRate = allowance.Rate{PerSecond: 0.5, Burst: 10}

// Found is what a search for releases has found.
type Found struct {
	Releases []Release         // those that have failed before for the book last, else those with most seeders first
	Failed   []torznab.Failure // indexers without results
}

// Release is a release of a search.
type Release struct {
	torznab.Release
	FailedBefore bool // for the medium of the book: it is not tried on its own
}

// Search searches for releases of a medium by words. An indexer that fails is named beside the results of the others.
// book is the one that they are for; 0: not known.
// PROVIDER_UNAVAILABLE: there is no indexer, or no qBittorrent. RATE_LIMITED: the user has searched too often.
func (c *Downloads) Search(
	ctx context.Context, user account.User, words, mediaType string, book int64,
) (found Found, err error) {
	words = strings.TrimSpace(words)
	switch length := utf8.RuneCountInString(words); {
	case !utf8.ValidString(words) || strings.ContainsFunc(words, unicode.IsControl):
		return Found{}, fault.Invalid("q", "what is searched for is text of one line")
	case length == 0 || length > torznab.MaxWords:
		return Found{}, fault.Invalid("q", "what is searched for has 1 to %d characters", torznab.MaxWords)
	case !slices.Contains(download.MediaTypes, mediaType):
		return Found{}, fault.Invalid("media_type", "media_type is one of %s", strings.Join(download.MediaTypes, ", "))
	case c.Off || c.Indexers == nil:
		return Found{}, fault.New(fault.ProviderUnavailable, "the search for releases is switched off here")
	}

	if err := c.countSearch(user); err != nil {
		return Found{}, err
	}
	answer := c.Indexers.Search(ctx, words, mediaType)
	var failed []string
	if book != 0 {
		failed, err = c.Store.Downloads.FailedReleases(ctx, book, mediaType)
	}
	var last []Release
	for _, r := range answer.Releases {
		if failedBefore(failed, r.SourceURL, r.Infohash) {
			last = append(last, Release{r, true})
		} else {
			found.Releases = append(found.Releases, Release{r, false})
		}
	}
	return Found{append(found.Releases, last...), answer.Failed}, err
}

// failedBefore says whether a release is one of those that have failed.
func failedBefore(failed []string, link, infohash string) bool {
	return slices.Contains(failed, link) || infohash != "" && slices.Contains(failed, infohash)
}

// countSearch counts a search of a user, or refuses it. Agents share the limit of their owner.
func (c *Downloads) countSearch(user account.User) error {
	if c.Searches == nil {
		return nil
	}
	wait := c.Searches.Take(*cmp.Or(user.OwnerID, &user.ID), searchRate)
	if wait == 0 {
		return nil
	}
	return fault.New(fault.RateLimited, "too many searches: slow down").With("limit", allowance.LimitSearches).After(wait)
}

// sourcesOf gives the sources of a request: each link and each torrent once.
func sourcesOf(a DownloadAsk) (sources []download.Source, err error) {
	all := a.Sources
	if len(all) == 0 || all[0].SourceURL != a.SourceURL {
		all = append([]download.Source{{SourceURL: a.SourceURL}}, all...)
	}

	known := map[string]bool{}
	for i, source := range all {
		origin, err := torrent.ParseSource(source.SourceURL)
		if err != nil {
			return nil, fault.As(err).WithField(fmt.Sprintf("sources[%d].source_url", i-len(all)+len(a.Sources)))
		}
		source.Infohash = cmp.Or(origin.V1, origin.V2, source.Infohash)
		if !known[source.SourceURL] && !known[source.Infohash] {
			sources = append(sources, source)
		}
		known[source.SourceURL], known[source.Infohash] = true, source.Infohash != ""
	}

	if len(sources) > download.MaxSources {
		return nil, fault.Invalid("sources", "a download has at most %d sources", download.MaxSources)
	}
	return sources, nil
}

// candidates gives the sources that a job tries, without those that have failed before: only a person chooses them, as
// the first one, or by asking again. A job with one source has no list.
func (c *Downloads) candidates(
	ctx context.Context, a DownloadAsk, sources []download.Source,
) (list []download.JobSource, err error) {
	if len(sources) == 1 {
		return nil, nil
	}
	failed, err := c.Store.Downloads.FailedReleases(ctx, a.BookID, a.MediaType)
	for i, source := range sources {
		if i == 0 || a.again != 0 || !failedBefore(failed, source.SourceURL, source.Infohash) {
			list = append(list, download.JobSource{Source: source, Place: len(list) + 1})
		}
	}
	if len(list) == 1 {
		list = nil
	}
	return list, err
}

// Again asks once more for what a download of the user's was to bring, from all its sources: those that have not failed
// for the book first. The answers are Start's.
func (c *Downloads) Again(
	ctx context.Context, user account.User, jobID int64, key string,
) (job download.Download, created bool, err error) {
	return c.Start(ctx, user, DownloadAsk{again: jobID, Key: key})
}

// askedBefore completes a request by the download that it is a repetition of.
func (c *Downloads) askedBefore(ctx context.Context, user account.User, ask DownloadAsk) (DownloadAsk, error) {
	job, err := c.Store.Downloads.ByID(ctx, ask.again)
	if err == nil && job.UserID != user.ID { // also an administrator's: the new one would be theirs
		err = fault.New(fault.DownloadNotFound, "there is no such download")
	}
	if err != nil {
		return ask, err
	}

	failed, err := c.Store.Downloads.FailedReleases(ctx, job.BookID, job.MediaType)
	ask.BookID, ask.MediaType, ask.Send = job.BookID, job.MediaType, job.Send && c.Library
	ask.SourceURL, ask.Source = job.SourceURL, job.Source
	for _, last := range []bool{false, true} {
		for _, s := range job.Sources {
			if failedBefore(failed, s.SourceURL, s.Infohash) == last {
				ask.Sources = append(ask.Sources, s.Source)
			}
		}
	}
	if len(ask.Sources) > 0 && ask.Sources[0].SourceURL != job.SourceURL {
		ask.SourceURL, ask.Source = ask.Sources[0].SourceURL, ""
	}
	return ask, err
}

// SourcesFrom gives releases that were found as sources of a download.
func SourcesFrom(found []Release) []download.Source {
	sources := make([]download.Source, len(found))
	for i, r := range found {
		sources[i] = download.Source{
			SourceURL: r.SourceURL, Title: r.Title, Indexer: r.Indexer, Size: r.Size, Infohash: r.Infohash,
		}
	}
	return sources
}

// MostSent is how many files are sent to a chat at once: an audiobook of a hundred would bury what else is there.
const MostSent = 20

// SendBook creates a delivery of each file of a book's medium to the user's chat, in reading order. The same key gives
// the same deliveries. All users share the library. MEDIA_NOT_READY: the library has no file of it. TOO_MANY_FILES: there
// are more than MostSent. What can be refused is refused before the first delivery, except for the user's quota: the same
// key goes on from there.
func (c *Downloads) SendBook(
	ctx context.Context, user account.User, book int64, mediaType, key, source string,
) ([]delivery.Job, error) {
	if _, err := c.Book(ctx, book); err != nil {
		return nil, err
	}
	files, err := c.filesToSend(ctx, book, mediaType)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if err := c.Deliveries.CheckFile(file); err != nil {
			return nil, err
		}
	}
	if files, err = c.Store.Deliveries.SaveFiles(ctx, files); err != nil {
		return nil, err
	}

	jobs := make([]delivery.Job, len(files))
	for i, file := range files {
		if jobs[i], _, err = c.Deliveries.Request(ctx, user, file.ID, key, source); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// filesToSend gives the files of a medium as deliveries know files.
func (c *Downloads) filesToSend(ctx context.Context, book int64, mediaType string) ([]delivery.File, error) {
	held, err := c.Files(ctx, book)
	if err != nil {
		return nil, err
	}

	var files []delivery.File
	for _, file := range held {
		if file.MediaType == mediaType {
			files = append(files, delivery.File{
				Path: shelf.Prefix + file.Path, Parent: shelf.Prefix, Name: path.Base(file.Path), Size: file.Size,
			})
		}
	}

	switch {
	case !c.Library || len(files) == 0:
		return nil, fault.New(fault.MediaNotReady, "the library has no files of this")
	case len(files) > MostSent:
		return nil, fault.New(fault.TooManyFiles, "%d files are too many to send at once", len(files)).
			With("files", len(files)).With("maximum", MostSent)
	default:
		return files, nil
	}
}

// Send is SendBook for the medium that a download has brought. For a download whose files its owner wished to be sent,
// and were not, it makes up for that, whatever the key.
func (c *Downloads) Send(ctx context.Context, user account.User, jobID int64, key, source string) ([]delivery.Job, error) {
	job, err := c.Get(ctx, user, jobID)
	switch {
	case err != nil:
		return nil, err
	case job.State != lifecycle.DownloadCompleted:
		return nil, fault.New(fault.MediaNotReady, "the download has not brought anything yet")
	case job.ToSend() && job.UserID == user.ID:
		return c.sendWished(ctx, user, job, source)
	default:
		return c.SendBook(ctx, user, job.BookID, job.MediaType, key, source)
	}
}

// sendWished sends what a download has brought to its owner. Its key is the same for all who try.
func (c *Downloads) sendWished(
	ctx context.Context, owner account.User, job download.Download, source string,
) ([]delivery.Job, error) {
	jobs, err := c.SendBook(ctx, owner, job.BookID, job.MediaType, fmt.Sprintf("download/%d", job.ID), source)
	if err != nil {
		return nil, err
	}
	return jobs, c.Store.Downloads.MarkSent(ctx, job.ID)
}

// SendWished sends what a completed download has brought to its owner, if that was wished and not done. A refusal is
// recorded, and is no error.
func (c *Downloads) SendWished(ctx context.Context, jobID int64) error {
	job, err := c.Store.Downloads.ByID(ctx, jobID)
	if err != nil || !job.ToSend() {
		return err
	}
	owner, err := c.Store.Accounts.UserByID(ctx, job.UserID)
	if err == nil {
		_, err = c.sendWished(ctx, owner, job, delivery.SourceBot)
	}
	if refusal := fault.As(err); refusal != nil && !refusal.Retryable {
		return c.Store.Downloads.MarkNotSent(ctx, jobID, refusal.Code)
	}
	return err
}

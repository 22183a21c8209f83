package downloads

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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

// Limits of a book's fields, in characters.
const (
	MaxBookTitle  = 500
	MaxBookAuthor = 500
)

// CreateBook adds a book to the library. key may be empty; repeating a key returns the book created by the first
// request.
func (c *Service) CreateBook(
	ctx context.Context, user account.User, title, author, key string,
) (download.Book, error) {
	title, author, err := checkBook(title, author)
	if err != nil {
		return download.Book{}, err
	}
	return c.Store.Downloads.CreateBook(ctx, title, author, core.Request{
		UserID: user.ID, Key: key, Asked: fmt.Sprintf("book %q %q", title, author),
	})
}

// checkBook returns a book's title and author in their stored form.
func checkBook(title, author string) (string, string, error) {
	title, author = lifecycle.Plain(title), lifecycle.Plain(author)
	switch {
	case strings.ContainsFunc(title+author, unicode.IsControl):
		return "", "", fault.Invalid("title", "a book's title and author are one line each")
	case title == "" || utf8.RuneCountInString(title) > MaxBookTitle:
		return "", "", fault.Invalid("title", "a title has 1 to %d characters", MaxBookTitle)
	case utf8.RuneCountInString(author) > MaxBookAuthor:
		return "", "", fault.Invalid("author", "an author's name has at most %d characters", MaxBookAuthor)
	}
	return title, author, nil
}

// ChangeBook corrects a book's title or author; nil: unchanged. Allowed to administrators, and to the book's creator
// while it has no media.
func (c *Service) ChangeBook(ctx context.Context, user account.User, id int64, title, author *string) (download.Book, error) {
	book, err := c.Book(ctx, id)
	if err != nil {
		return book, err
	}
	if title != nil {
		book.Title = *title
	}
	if author != nil {
		book.Author = *author
	}
	if book.Title, book.Author, err = checkBook(book.Title, book.Author); err != nil {
		return book, err
	}
	return c.Store.Downloads.ChangeBook(ctx, user, id, book.Title, book.Author)
}

// DeleteBook deletes a book, under the same rules as ChangeBook. Files in the library folder stay; a running download
// for the book fails.
func (c *Service) DeleteBook(ctx context.Context, user account.User, id int64) error {
	return c.Store.Downloads.DeleteBook(ctx, user, id)
}

// Book returns a book; all users share the library.
func (c *Service) Book(ctx context.Context, id int64) (download.Book, error) {
	return c.Store.Downloads.BookByID(ctx, id)
}

// Books returns books, newest first.
func (c *Service) Books(ctx context.Context, f download.BookFilter) ([]download.Book, error) {
	if !utf8.ValidString(f.Words) || strings.ContainsFunc(f.Words, unicode.IsControl) {
		return nil, fault.Invalid("q", "a search is one line of text")
	}
	return c.Store.Downloads.Books(ctx, f)
}

// Files returns, in reading order, the first files in the library folder for each medium of the given books.
func (c *Service) Files(ctx context.Context, ofEach int, books ...int64) ([]download.MediumFile, error) {
	return c.Store.Downloads.FilesOf(ctx, books, ofEach)
}

// FilesAfter returns the files of a book after the given one, in reading order.
func (c *Service) FilesAfter(ctx context.Context, file download.MediumFile, limit int) ([]download.MediumFile, error) {
	return c.Store.Downloads.FilesAfter(ctx, file, limit)
}

// File returns a file of a book's medium by its position. FILE_NOT_FOUND: the library folder has none there.
func (c *Service) File(ctx context.Context, book int64, mediaType string, place int) (download.MediumFile, error) {
	return c.Store.Downloads.FileAt(ctx, book, mediaType, place)
}

// MarkMedium records that an administrator found a medium missing or deleted it, and returns the updated book.
// Administrators only.
func (c *Service) MarkMedium(
	ctx context.Context, user account.User, book int64, mediaType, status string,
) (download.Book, error) {
	switch {
	case !user.IsAdmin():
		return download.Book{}, fault.New(fault.InsufficientAccess, "only administrators may do this")
	case status != download.MediaDeleted && status != download.MediaMissing:
		return download.Book{}, fault.Invalid("status", "a medium can be marked as deleted or as missing")
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

// Found is the result of a release search.
type Found struct {
	Releases []Release         // those that failed before for the user and book last, the others by seeders, descending
	Failed   []torznab.Failure // indexers without results
}

// Release is a release of a search.
type Release struct {
	torznab.Release
	FailedBefore bool // for the user and the book's medium: not tried automatically
}

// Search searches indexers for releases of a medium. An indexer that fails is listed beside the others' results. book
// is the book searched for; 0: unknown. PROVIDER_UNAVAILABLE: there is no indexer, or no qBittorrent. RATE_LIMITED: the
// user has searched too often, or too many searches are running.
func (c *Service) Search(
	ctx context.Context, user account.User, words, mediaType string, book int64,
) (found Found, err error) {
	words = strings.TrimSpace(words)
	switch length := utf8.RuneCountInString(words); {
	case !utf8.ValidString(words) || strings.ContainsFunc(words, unicode.IsControl):
		return Found{}, fault.Invalid("q", "a search is one line of text")
	case length == 0 || length > torznab.MaxWords:
		return Found{}, fault.Invalid("q", "a search has 1 to %d characters", torznab.MaxWords)
	case !slices.Contains(download.MediaTypes, mediaType):
		return Found{}, fault.Invalid("media_type", "media_type is one of %s", strings.Join(download.MediaTypes, ", "))
	case c.Off || c.Indexers == nil:
		return Found{}, fault.New(fault.ProviderUnavailable, "the search for releases is switched off here")
	}

	end, err := c.Searches.Begin(ctx, user)
	if err != nil {
		return Found{}, err
	}
	answer := c.Indexers.Search(ctx, words, mediaType)
	end()

	releases := make([]Release, len(answer.Releases))
	for i, r := range answer.Releases {
		releases[i].Release = r
	}
	if book == 0 || len(releases) == 0 {
		return Found{releases, answer.Failed}, nil
	}

	failed, err := c.Store.Downloads.Failed(ctx, user.PersonID(), book, mediaType, SourcesFrom(releases))
	if err != nil {
		return Found{}, err
	}
	var last []Release
	for i, r := range releases {
		if r.FailedBefore = failed[i]; r.FailedBefore {
			last = append(last, r)
		} else {
			found.Releases = append(found.Releases, r)
		}
	}
	return Found{append(found.Releases, last...), answer.Failed}, nil
}

// sourcesOf returns a request's sources without duplicate links or torrents.
func sourcesOf(a Ask) (sources []download.Source, err error) {
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

// candidates returns the sources that a job tries, without those that failed for the user before: only a person chooses
// these, as the first source or by repeating the download. A job with one source has no list.
func (c *Service) candidates(
	ctx context.Context, user account.User, a Ask, sources []download.Source,
) (list []download.JobSource, err error) {
	if len(sources) == 1 {
		return nil, nil
	}
	failed, err := c.Store.Downloads.Failed(ctx, user.PersonID(), a.BookID, a.MediaType, sources)
	if err != nil {
		return nil, err
	}
	for i, source := range sources {
		if i == 0 || a.again != 0 || !failed[i] {
			list = append(list, download.JobSource{Source: source, Place: len(list) + 1})
		}
	}
	if len(list) == 1 {
		list = nil
	}
	return list, err
}

// Again repeats one of the user's downloads from all its sources, those that have not failed for the book first. With
// maySend, files to be sent are sent again. Returns what Start returns.
func (c *Service) Again(
	ctx context.Context, user account.User, jobID int64, key string, maySend bool,
) (job download.Download, created bool, err error) {
	return c.Start(ctx, user, Ask{again: jobID, Key: key, Send: maySend})
}

// askedBefore completes a request from the download that it repeats.
func (c *Service) askedBefore(ctx context.Context, user account.User, ask Ask) (Ask, error) {
	job, err := c.Store.Downloads.ByID(ctx, ask.again)
	if err == nil && job.UserID != user.ID { // an administrator's too: the new download would belong to them
		err = fault.New(fault.DownloadNotFound, "there is no such download")
	}
	if err != nil {
		return ask, err
	}

	tried := make([]download.Source, len(job.Sources))
	for i, s := range job.Sources {
		tried[i] = s.Source
	}
	failed, err := c.Store.Downloads.Failed(ctx, user.PersonID(), job.BookID, job.MediaType, tried)
	if err != nil {
		return ask, err
	}

	ask.BookID, ask.MediaType, ask.Send = job.BookID, job.MediaType, ask.Send && job.Send && c.Library
	ask.SourceURL, ask.Source = job.SourceURL, job.Source
	for _, last := range []bool{false, true} {
		for i, source := range tried {
			if failed[i] == last {
				ask.Sources = append(ask.Sources, source)
			}
		}
	}
	if len(ask.Sources) > 0 && ask.Sources[0].SourceURL != job.SourceURL {
		ask.SourceURL, ask.Source = ask.Sources[0].SourceURL, ""
	}
	return ask, nil
}

// SourcesFrom converts releases found by a search into sources of a download.
func SourcesFrom(found []Release) []download.Source {
	sources := make([]download.Source, len(found))
	for i, r := range found {
		sources[i] = download.Source{
			SourceURL: r.SourceURL, Title: r.Title, Indexer: r.Indexer, Size: r.Size, Infohash: r.Infohash,
		}
	}
	return sources
}

// MostSent is how many files are sent to a chat at once: an audiobook with a hundred would bury everything else there.
const MostSent = 20

// SendBook creates a delivery to the user's chat for each file of a book's medium, in reading order. The same key gives
// the same deliveries. All users share the library. MEDIA_NOT_READY: the library has none of its files. TOO_MANY_FILES:
// there are more than MostSent. Every refusal precedes the first delivery, except the user's quota: repeating the key
// continues from there.
func (c *Service) SendBook(
	ctx context.Context, user account.User, book int64, mediaType, key, source string,
) ([]delivery.Job, error) {
	of, err := c.Book(ctx, book)
	if err != nil {
		return nil, err
	}
	held, err := c.Files(ctx, MostSent, book)
	if err != nil {
		return nil, err
	}

	var files []download.LibraryFile
	for _, file := range held {
		if file.MediaType == mediaType {
			files = append(files, file.LibraryFile)
		}
	}
	return c.sendFiles(ctx, user, of.FilesOf(mediaType), files, key, source)
}

// sendFiles creates deliveries of n library files to a user's chat; held contains the first of them.
func (c *Service) sendFiles(
	ctx context.Context, user account.User, n int, held []download.LibraryFile, key, source string,
) ([]delivery.Job, error) {
	switch {
	case !c.Library || len(held) == 0:
		return nil, fault.New(fault.MediaNotReady, "the library has no files for this")
	case n > MostSent:
		return nil, fault.New(fault.TooManyFiles, "%d files are too many to send at once", n).
			With("files", n).With("maximum", MostSent)
	}

	files := make([]delivery.File, len(held))
	for i, file := range held {
		files[i] = delivery.File{
			Path: shelf.Prefix + file.Path, Parent: shelf.Prefix, Name: path.Base(file.Path), Size: file.Size,
		}
		if err := c.Deliveries.CheckFile(files[i]); err != nil {
			return nil, err
		}
	}
	files, err := c.Store.Deliveries.SaveFiles(ctx, files)
	if err != nil {
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

// Send is SendBook for the files that a download brought, whatever copy its book has. If the owner asked for these
// files and they were not sent, it sends them now, whatever the key.
func (c *Service) Send(ctx context.Context, user account.User, jobID int64, key, source string) ([]delivery.Job, error) {
	job, err := c.Get(ctx, user, jobID)
	switch {
	case err != nil:
		return nil, err
	case job.State != lifecycle.DownloadCompleted:
		return nil, fault.New(fault.MediaNotReady, "the download has not imported anything yet")
	case job.ToSend() && job.UserID == user.ID:
		return c.sendWished(ctx, user, job, source)
	default:
		return c.sendBrought(ctx, user, job, key, source)
	}
}

func (c *Service) sendBrought(
	ctx context.Context, user account.User, job download.Download, key, source string,
) ([]delivery.Job, error) {
	files, err := c.Store.Downloads.FilesBrought(ctx, job.ID, MostSent)
	if err != nil {
		return nil, err
	}
	return c.sendFiles(ctx, user, job.FileCount, files, key, source)
}

// sendWished sends a download's files to its owner. All callers use the same key.
func (c *Service) sendWished(
	ctx context.Context, owner account.User, job download.Download, source string,
) ([]delivery.Job, error) {
	jobs, err := c.sendBrought(ctx, owner, job, fmt.Sprintf("download/%d", job.ID), source)
	if err != nil {
		return nil, err
	}
	return jobs, c.Store.Downloads.MarkSent(ctx, job.ID)
}

// SendWished sends a completed download's files to its owner if requested and not yet done. A refusal is recorded, not
// returned as an error.
func (c *Service) SendWished(ctx context.Context, jobID int64) error {
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

package download

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"stagecoach/internal/fault"
	"stagecoach/internal/library"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
	"stagecoach/internal/temporalio"
)

// Library is where the files of completed downloads go.
type Library struct {
	Dir      string // empty: they stay where qBittorrent has put them
	Template library.Template
	Media    string                      // where the worker finds the folder of Settings.SavePath; empty: at the same path
	Link     func(from, to string) error // os.Link
}

// needsImport says whether a job's files have to be put into the library folder before it completes. They stay where
// they are when the book keeps the medium of another user.
func (d *Activities) needsImport(
	ctx context.Context, move lifecycle.DownloadMove,
) (job download.Download, needs bool, err error) {
	if move.Action != lifecycle.DownloadActionComplete || d.Library.Dir == "" {
		return job, false, nil
	}

	job, err = d.Store.ByID(ctx, move.JobID)
	over := lifecycle.Download.Terminal(job.State) || job.RemovingAt != nil || job.BookTitle == "" ||
		job.SourcePlace != max(move.Place, 1)
	if err != nil || over || job.ContentPath == "" {
		return job, false, err
	}
	needs, err = d.Store.MayReplace(ctx, job)
	return job, needs, err
}

// ImportDownload puts the files of a complete torrent into the library folder and completes the job, in this order. A
// repeated call finds the files of the call before and changes nothing. A torrent that is not there, or not complete,
// is left to the watcher.
func (d *Activities) ImportDownload(ctx context.Context, jobID int64) (lifecycle.DownloadRecord, error) {
	ctx, stop := temporalio.WithWatchdog(ctx)
	defer stop()

	var job download.Download
	err := d.whileRecordIsAway(ctx, func() (err error) {
		job, err = d.Store.ByID(ctx, jobID)
		return err
	})
	over := lifecycle.Download.Terminal(job.State) || job.CancelRequestedAt != nil
	if err != nil || over || job.Attention == string(fault.ImportFailed) {
		return answer(ctx, job, err)
	}

	var there *qbittorrent.Torrent
	err = temporalio.LoopStep(ctx, func(ctx context.Context) (err error) {
		there, err = d.Torrents.Find(ctx, job.Tag(), job.InfohashV1, job.InfohashV2)
		return err
	})
	if err == nil && (there == nil || there.State != qbittorrent.Complete) {
		return recordOf(job), nil
	}

	if err == nil {
		job, err = d.importFiles(ctx, job, *there)
	}
	if err != nil {
		return lifecycle.DownloadRecord{}, d.notImported(ctx, job, err)
	}
	return recordOf(job), nil
}

// importFiles puts the files of the medium into the library folder, once all of them are checked.
func (d *Activities) importFiles(
	ctx context.Context, job download.Download, t qbittorrent.Torrent,
) (download.Download, error) {
	chosen, err := d.choose(ctx, job, t)
	if err != nil {
		return job, err
	}

	from, err := d.openTorrent(t)
	if err != nil {
		return job, err
	}
	defer func() { _ = from.Close() }()

	done := 0
	to, err := library.Open(d.Library.Dir, strconv.FormatInt(job.ID, 10), d.Library.Link, func() {
		temporalio.Progressed(ctx, done, len(chosen))
	})
	if err != nil {
		return job, err
	}
	defer to.Close()

	folder, files, err := d.reserve(ctx, job, chosen, from, to)
	if fault.CodeOf(err) == fault.BookNotFound {
		return d.Jobs.Complete(ctx, job, "", nil) // fails the job
	}
	if err != nil {
		return job, err
	}

	for i, c := range chosen {
		err := withSource(from, c, func(source *library.Source) error { return to.Put(ctx, source, files[i].Path) })
		if errors.Is(err, library.ErrTaken) { // between the two looks; the next attempt takes another name
			err = fault.New(fault.ImportFailed, "the place in the library folder was taken meanwhile").Retry()
		}
		if err != nil {
			return job, err
		}
		done++
		temporalio.Progressed(ctx, done, len(chosen))
	}

	imported := job
	err = d.whileRecordIsAway(ctx, func() (err error) {
		imported, err = d.Jobs.Complete(ctx, job, folder, files)
		return err
	})
	return imported, err
}

// choose asks qBittorrent for the files of a torrent, and takes those of the medium.
func (d *Activities) choose(
	ctx context.Context, job download.Download, t qbittorrent.Torrent,
) ([]library.Chosen, error) {
	var listed []library.File
	err := temporalio.LoopStep(ctx, func(ctx context.Context) error {
		files, err := d.Torrents.Files(ctx, t)
		for _, file := range files {
			listed = append(listed, library.File(file))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return library.Choose(job.MediaType, listed)
}

// openTorrent opens the folder in which a torrent is saved.
func (d *Activities) openTorrent(t qbittorrent.Torrent) (*os.Root, error) {
	place := path.Clean(t.SavePath)
	if d.Library.Media != "" && d.Settings.SavePath != "" {
		rest, below := strings.CutPrefix(place, strings.TrimSuffix(path.Clean(d.Settings.SavePath), "/"))
		if !below || !filepath.IsLocal("."+rest) {
			return nil, fault.New(fault.ImportFailed, "the torrent is not in the folder of downloads").Retry()
		}
		place = filepath.Join(d.Library.Media, filepath.FromSlash(rest))
	}

	root, err := os.OpenRoot(place)
	if err != nil {
		return nil, fault.New(fault.ImportFailed, "the folder of the torrent cannot be opened").WithCause(err).Retry()
	}
	return root, nil
}

// maxNumber is the most places of one name.
const maxNumber = 99

// reserve finds the first place of the template where no other book's files and no other content lie: of the one file,
// or of the folder.
func (d *Activities) reserve(
	ctx context.Context, job download.Download, chosen []library.Chosen, from *os.Root, to *library.Folder,
) (folder string, files []download.LibraryFile, err error) {
	book, err := d.Store.BookByID(ctx, job.BookID)
	if err != nil {
		return "", nil, err
	}
	about := library.Book{ID: book.ID, Title: book.Title, Author: book.Author, MediaType: job.MediaType}

	for number := 1; number <= maxNumber; number++ {
		folder, files = filesAt(d.Library.Template.Path(about, number), chosen)
		free, err := d.free(ctx, job, chosen, files, from, to)
		if err != nil || free {
			return folder, files, err
		}
	}
	return "", nil, fault.New(fault.ImportFailed, "other content lies at all places that the template gives").Retry()
}

// filesAt places files at a path without an ending: a single one, or a folder. It also returns that file or folder.
func filesAt(place string, chosen []library.Chosen) (folder string, files []download.LibraryFile) {
	if len(chosen) == 1 {
		place += "." + chosen[0].Format.Ext
		return place, []download.LibraryFile{{Path: place, Size: chosen[0].Size}}
	}
	for _, c := range chosen {
		files = append(files, download.LibraryFile{Path: place + "/" + c.Name, Size: c.Size})
	}
	return place, files
}

// free says whether all files can be put where they are to lie.
func (d *Activities) free(
	ctx context.Context, job download.Download, chosen []library.Chosen, files []download.LibraryFile, from *os.Root,
	to *library.Folder,
) (bool, error) {
	paths := make([]string, len(files))
	for i, file := range files {
		paths[i] = file.Path
	}
	taken, err := d.Store.PlacesTaken(ctx, job, paths)
	if err != nil || len(taken) > 0 {
		return false, err
	}

	for i, c := range chosen {
		err := withSource(from, c, func(source *library.Source) error { return to.Free(ctx, source, paths[i]) })
		if errors.Is(err, library.ErrTaken) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// withSource opens a file of a torrent for one step: an audiobook may have more files than a process may open.
func withSource(from *os.Root, c library.Chosen, step func(*library.Source) error) error {
	source, err := library.OpenSource(from, c)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	return step(source)
}

// whileRecordIsAway repeats a call while the record is away: that is no failure of the import.
func (d *Activities) whileRecordIsAway(ctx context.Context, call func() error) error {
	return core.RetryWhileUnavailable(ctx, func() error {
		temporalio.Progressed(ctx)
		return call()
	})
}

// notImported logs why files are not in the library, and returns an error that says whether Temporal tries again. The
// log has the names, the history has not.
func (d *Activities) notImported(ctx context.Context, job download.Download, err error) error {
	if ctx.Err() != nil {
		return temporalio.LoopOutcome(ctx)
	}

	problem := temporalio.FaultOf(err)
	d.Log.Warn(
		"download not imported", "download", job.ID, "code", problem.Code, "problem", problem.Message, "cause", problem.Cause,
	)
	if problem.Code == fault.Internal || problem.Code == fault.StoreUnavailable {
		problem = problem.Retry()
	}
	return temporalio.ActivityError(ctx, problem)
}

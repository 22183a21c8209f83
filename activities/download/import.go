package download

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

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
// repeated call finds the files of the call before and changes nothing.
func (d *Activities) ImportDownload(ctx context.Context, jobID int64) (record lifecycle.DownloadRecord, err error) {
	ctx, stop := temporalio.WithWatchdog(ctx)
	defer stop()

	var job download.Download
	err = core.RetryWhileUnavailable(ctx, func() (err error) { // an outage of the record is no failure of the import
		temporalio.Progressed(ctx)
		job, err = d.importJob(ctx, jobID)
		return err
	})
	if err != nil {
		return record, d.notImported(ctx, jobID, err)
	}
	return recordOf(job), nil
}

// importJob leaves a torrent that is not there, or not complete, to the watcher.
func (d *Activities) importJob(ctx context.Context, id int64) (download.Download, error) {
	job, err := d.Store.ByID(ctx, id)
	over := lifecycle.Download.Terminal(job.State) || job.CancelRequestedAt != nil
	if err != nil || over || job.Attention == string(fault.ImportFailed) {
		return job, err
	}

	var there *qbittorrent.Torrent
	err = temporalio.LoopStep(ctx, func(ctx context.Context) (err error) {
		there, err = d.Torrents.Find(ctx, job.Tag(), job.InfohashV1, job.InfohashV2)
		return err
	})
	if err != nil || there == nil || there.State != qbittorrent.Complete {
		return job, err
	}
	return d.importFiles(ctx, job, *there)
}

// importFiles puts the files of the medium into the library folder, once all of them are checked.
func (d *Activities) importFiles(
	ctx context.Context, job download.Download, t qbittorrent.Torrent,
) (none download.Download, err error) {
	chosen, err := d.choose(ctx, job, t)
	if err != nil {
		return none, err
	}

	from, err := d.openTorrent(t)
	if err != nil {
		return none, err
	}
	defer from.Close()

	to, err := library.Open(d.Library.Dir, fmt.Sprint(job.ID), d.Library.Link, func() { temporalio.Progressed(ctx) })
	if err != nil {
		return none, err
	}
	defer to.Close()

	folder, files, err := d.reserve(ctx, job, chosen, from, to)
	if fault.CodeOf(err) == fault.BookNotFound {
		return d.Jobs.Complete(ctx, job, "", nil) // fails the job
	}
	if err != nil {
		return none, err
	}

	for i, c := range chosen {
		err := withSource(from, c, func(source *library.Source) error { return to.Put(ctx, source, files[i].Path) })
		if err != nil {
			return none, err
		}
		temporalio.Progressed(ctx)
	}
	return d.Jobs.Complete(ctx, job, folder, files)
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
	place := t.SavePath
	if d.Library.Media != "" && d.Settings.SavePath != "" {
		rest, err := filepath.Rel(d.Settings.SavePath, place)
		if err != nil || !filepath.IsLocal(rest) {
			return nil, fault.New(fault.ImportFailed, "the torrent is not in the folder of downloads").Retry()
		}
		place = filepath.Join(d.Library.Media, rest)
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
		if err := d.free(ctx, job, chosen, files, from, to); err != library.ErrTaken {
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

// free is the error of files that cannot be put where they are to lie.
func (d *Activities) free(
	ctx context.Context, job download.Download, chosen []library.Chosen, files []download.LibraryFile, from *os.Root,
	to *library.Folder,
) error {
	paths := make([]string, len(files))
	for i, file := range files {
		paths[i] = file.Path
	}
	taken, err := d.Store.PlacesTaken(ctx, job, paths)
	switch {
	case err != nil:
		return err
	case len(taken) > 0:
		return library.ErrTaken
	}

	for i, c := range chosen {
		err := withSource(from, c, func(source *library.Source) error {
			_, err := to.Has(ctx, source, paths[i])
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// withSource opens a file of a torrent for one step: an audiobook may have more files than a process may open.
func withSource(from *os.Root, c library.Chosen, step func(*library.Source) error) error {
	source, err := library.OpenSource(from, c)
	if err != nil {
		return err
	}
	defer source.Close()
	return step(source)
}

// notImported logs why files are not in the library, and returns an error that says whether Temporal tries again. The
// log has the names, the history has not.
func (d *Activities) notImported(ctx context.Context, jobID int64, err error) error {
	if ctx.Err() != nil {
		return temporalio.LoopOutcome(ctx)
	}

	problem := temporalio.FaultOf(err)
	d.Log.Warn(
		"download not imported", "download", jobID, "code", problem.Code, "problem", problem.Message, "cause", problem.Cause,
	)
	return temporalio.ActivityError(ctx, problem)
}

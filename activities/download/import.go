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

// Library is where completed downloads' files go.
type Library struct {
	Dir      string // empty: they stay where qBittorrent put them
	Template library.Template
	Media    string                      // the worker's path of Settings.SavePath; empty: the same path
	Link     func(from, to string) error // os.Link
}

// ImportDownload imports a complete torrent's files into the library folder and then completes the job. Idempotent: a
// repeated call finds the files already there. An outage of the record and a stopping worker are not failures of the
// import.
func (d *Activities) ImportDownload(ctx context.Context, jobID int64) (record lifecycle.DownloadRecord, err error) {
	ctx, stop := temporalio.WithHandOver(ctx, d.Settings.HandOverAfter)
	defer stop()
	ctx, stop = temporalio.WithWatchdog(ctx)
	defer stop()

	var job download.Download
	err = core.RetryWhileUnavailable(ctx, func() (err error) {
		temporalio.Progressed(ctx)
		job, err = d.importJob(ctx, jobID)
		return err
	})
	if err != nil {
		return record, d.notImported(ctx, jobID, err)
	}
	return recordOf(job), nil
}

// importJob leaves a missing or incomplete torrent to the watcher.
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

// importFiles imports the medium's files into the library folder, once all of them are checked.
func (d *Activities) importFiles(
	ctx context.Context, job download.Download, t qbittorrent.Torrent,
) (none download.Download, err error) {
	chosen, left, err := d.choose(ctx, job, t)
	if err != nil {
		return none, err
	}
	job.LeftOut = left

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

// choose queries qBittorrent for a torrent's files, and selects those of the medium. left is how many are left out.
func (d *Activities) choose(
	ctx context.Context, job download.Download, t qbittorrent.Torrent,
) (chosen []library.Chosen, left int, err error) {
	var listed []library.File
	err = temporalio.LoopStep(ctx, func(ctx context.Context) error {
		files, err := d.Torrents.Files(ctx, t)
		for _, file := range files {
			listed = append(listed, library.File(file))
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return library.Choose(job.MediaType, listed)
}

// openTorrent opens the folder in which a torrent is saved.
func (d *Activities) openTorrent(t qbittorrent.Torrent) (*os.Root, error) {
	place := t.SavePath
	if d.Library.Media != "" && d.Settings.SavePath != "" {
		rest, below := qbittorrent.Below(d.Settings.SavePath, place)
		if !below {
			return nil, fault.New(fault.ImportFailed, "the torrent is not in the downloads folder").Retry()
		}
		place = filepath.Join(d.Library.Media, rest)
	}

	root, err := os.OpenRoot(place)
	if err != nil {
		return nil, fault.New(fault.ImportFailed, "the folder of the torrent cannot be opened").WithCause(err).Retry()
	}
	return root, nil
}

// reserve finds the first location by the template, of the one file or of the folder, that is free of other downloads'
// files and other content.
func (d *Activities) reserve(
	ctx context.Context, job download.Download, chosen []library.Chosen, from *os.Root, to *library.Folder,
) (folder string, files []download.LibraryFile, err error) {
	book, err := d.Store.BookByID(ctx, job.BookID)
	if err != nil {
		return "", nil, err
	}
	about := library.Book{ID: book.ID, Title: book.Title, Author: book.Author, MediaType: job.MediaType}

	for _, place := range d.Library.Template.Places(about, job.ID) {
		folder, files = place, nil
		for _, c := range chosen {
			files = append(files, download.LibraryFile{Path: place + "/" + c.Name, Size: c.Size})
		}
		if len(chosen) == 1 {
			folder += "." + chosen[0].Format.Ext
			files[0].Path = folder
		}
		if err := d.free(ctx, job, chosen, folder, files, from, to); err != library.ErrTaken {
			return folder, files, err
		}
	}
	return "", nil, fault.New(fault.ImportFailed, "all paths that the template gives have other content").Retry()
}

// free is the error of files that cannot be put in their place.
func (d *Activities) free(
	ctx context.Context, job download.Download, chosen []library.Chosen, folder string, files []download.LibraryFile,
	from *os.Root, to *library.Folder,
) error {
	taken, err := d.Store.PlaceTaken(ctx, job.ID, folder, files)
	switch {
	case err != nil:
		return err
	case taken:
		return library.ErrTaken
	}

	if len(files) > 1 {
		if err := to.Alone(folder, chosen); err != nil {
			return err
		}
	}
	for i, c := range chosen {
		err := withSource(from, c, func(source *library.Source) error {
			_, err := to.Has(ctx, source, files[i].Path)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// withSource opens a torrent's file for one step: an audiobook may have more files than a process may open.
func withSource(from *os.Root, c library.Chosen, step func(*library.Source) error) error {
	source, err := library.OpenSource(from, c)
	if err != nil {
		return err
	}
	defer source.Close()
	return step(source)
}

// notImported logs why files are not in the library, and returns an error that determines whether Temporal retries.
// Neither names a book or a file.
func (d *Activities) notImported(ctx context.Context, jobID int64, err error) error {
	if ctx.Err() != nil || temporalio.IsInterruption(err) {
		return temporalio.TryError(ctx, err)
	}

	problem := temporalio.FaultOf(err)
	d.Log.Warn(
		"download not imported", "download", jobID, "code", problem.Code, "problem", problem.Message, "cause", problem.Cause,
	)
	return temporalio.ActivityError(ctx, problem)
}

package reconcile

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/temporalio"
)

// MediaMarker is the file that must exist in the media root: without it nothing is mounted there, or something else.
const MediaMarker = ".stagecoach-media"

const (
	mediaBatch = 500                   // media between two checks of the marker
	mediaPause = 50 * time.Millisecond // after each batch: the disk is qBittorrent's
)

// Results of a sweep.
const (
	MediaSwept       = "ok"
	MediaStopped     = "stopped" // too many media are missing: nothing was marked
	MediaSweepFailed = "failed"
)

// MediaStore is what a media sweep needs from the record.
type MediaStore interface {
	LyingMedia(ctx context.Context, after download.LyingMedium, limit int) ([]download.LyingMedium, error)
	ChangeMedium(ctx context.Context, c download.MediumChange) (changed bool, err error)
}

// Alerts notifies the administrators of what only they can fix.
type Alerts interface {
	RaiseAlert(ctx context.Context, kind string) error
	ResolveAlert(ctx context.Context, kind string) error
}

// MediaSweep checks whether the media's files exist where the record says, and marks media as missing and as available
// again.
type MediaSweep struct {
	Store      MediaStore
	Alerts     Alerts
	Log        *slog.Logger
	Root       string              // where SavePath is mounted here; empty: no sweeps
	Library    string              // the library folder, which contains media with relative paths; empty: none
	SavePath   string              // in qBittorrent's file system; empty: the same as Root
	MaxPercent int64               // of the available media: a sweep that would mark more stops
	OnSwept    func(result string) // counts sweeps; nil: not counted
}

var errNoMarker = errors.New("the media root does not hold the marker file")

// SweepMedia is one sweep. Its error contains no path.
func (m *MediaSweep) SweepMedia(ctx context.Context) error {
	if m.Root == "" {
		return nil
	}

	ctx, stop := temporalio.WithWatchdog(ctx)
	defer stop()

	err := m.sweep(ctx)
	if err == nil {
		return nil
	}
	if ctx.Err() == nil {
		m.count(MediaSweepFailed)
	}
	return cmp.Or(temporalio.LoopOutcome(ctx), fault.WithoutNames(err))
}

// sweep checks all media first and marks afterwards, so that a root that disappears halfway marks nothing.
func (m *MediaSweep) sweep(ctx context.Context) error {
	plan, err := m.plan(ctx)
	if err != nil {
		return err
	}

	if int64(len(plan.lost))*100 > int64(plan.available)*m.MaxPercent {
		if err := m.Alerts.RaiseAlert(ctx, notice.AlertMediaMissing); err != nil {
			return err
		}
		m.count(MediaStopped)
		m.Log.Warn("media sweep aborted: too many missing", "missing", len(plan.lost), "available", plan.available)
		return nil
	}

	if err := m.apply(ctx, plan); err != nil {
		return err
	}
	if err := m.Alerts.ResolveAlert(ctx, notice.AlertMediaMissing); err != nil {
		return err
	}

	m.count(MediaSwept)
	return nil
}

// mediaPlan is the result of checking all media.
type mediaPlan struct {
	available int                    // media recorded as available
	lost      []download.LyingMedium // of these, those whose files are gone
	found     []download.LyingMedium // missing ones whose files are back
}

// plan checks all media that may be in the root. A batch counts only if the marker existed before and after it.
func (m *MediaSweep) plan(ctx context.Context) (plan mediaPlan, err error) {
	root, err := os.OpenRoot(m.Root)
	if err != nil {
		return plan, err
	}
	defer func() { _ = root.Close() }()
	library := root
	if m.Library != "" {
		if library, err = os.OpenRoot(m.Library); err != nil {
			return plan, err
		}
		defer func() { _ = library.Close() }()
	}

	for last := (download.LyingMedium{}); ; {
		media, err := m.Store.LyingMedia(ctx, last, mediaBatch)
		if err != nil {
			return plan, err
		}
		if err := m.addBatch(root, library, media, &plan); err != nil {
			return plan, err
		}
		if len(media) < mediaBatch {
			return plan, nil
		}

		last = media[len(media)-1]
		temporalio.Progressed(ctx)

		select {
		case <-ctx.Done():
			return plan, ctx.Err()
		case <-time.After(mediaPause):
		}
	}
}

// addBatch adds the results of a batch of media to the plan.
func (m *MediaSweep) addBatch(root, library *os.Root, media []download.LyingMedium, plan *mediaPlan) error {
	if err := m.marked(); err != nil {
		return err
	}

	for _, medium := range media {
		in := root
		place, ok := m.place(medium.Path)
		if m.Library != "" && filepath.IsLocal(medium.Path) {
			in, place, ok = library, medium.Path, true
		}
		if !ok {
			continue
		}

		there, err := exists(in, place)
		if err != nil {
			return err
		}

		switch medium.Status {
		case download.MediaAvailable:
			plan.available++
			if !there {
				plan.lost = append(plan.lost, medium)
			}
		case download.MediaMissing:
			if there {
				plan.found = append(plan.found, medium)
			}
		}
	}

	return m.marked()
}

// apply marks what was found, each medium in its own database transaction.
func (m *MediaSweep) apply(ctx context.Context, plan mediaPlan) error {
	for to, media := range map[string][]download.LyingMedium{download.MediaMissing: plan.lost, download.MediaAvailable: plan.found} {
		for _, medium := range media {
			_, err := m.Store.ChangeMedium(ctx, download.MediumChange{
				BookID: medium.BookID, MediaType: medium.MediaType, To: to, From: medium.Status, Path: medium.Path,
			})
			if err != nil {
				return err
			}
			temporalio.Progressed(ctx)
		}
	}

	if len(plan.lost)+len(plan.found) > 0 {
		m.Log.Info("media marked", "missing", len(plan.lost), "available", len(plan.found))
	}
	return nil
}

// marked returns nil if the root currently contains the marker. It reopens the root: a mount may come and go over an
// open folder.
func (m *MediaSweep) marked() error {
	info, err := os.Stat(filepath.Join(m.Root, MediaMarker))
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.Mode().IsRegular():
		return errNoMarker
	default:
		return err
	}
}

// place returns where a qBittorrent path is below the root; false: elsewhere.
func (m *MediaSweep) place(file string) (place string, ok bool) {
	place, ok = qbittorrent.Below(cmp.Or(m.SavePath, m.Root), file)
	return place, ok && place != "."
}

// exists reports whether a file or folder exists. A path that leads out of the root does not.
func exists(root *os.Root, place string) (bool, error) {
	_, err := root.Stat(filepath.FromSlash(place))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, err
	}
}

func (m *MediaSweep) count(result string) {
	if m.OnSwept != nil {
		m.OnSwept(result)
	}
}

package download

import (
	"cmp"
	"context"
	"math"
	"slices"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/torrent"
)

// Space is what must remain free on the disks once all downloads are complete.
type Space struct {
	MinFree     int64        // bytes, on each disk
	LibraryFree func() int64 // bytes free for copies of downloads; nil: no copies are made
}

// room is how many bytes further torrents may use on the downloads' disk and on the library's.
type room struct{ downloads, library int64 }

// left returns the room that the active torrents leave once complete. Stopped ones have no claim to it.
func (s Space) left(ctx context.Context, client *qbittorrent.Client, active []qbittorrent.Torrent) (room, error) {
	left := room{math.MaxInt64, math.MaxInt64}
	free, err := client.FreeSpace(ctx)
	if err != nil {
		return left, err
	}
	if free >= 0 { // otherwise it is unknown
		left.downloads = free - s.MinFree
	}
	if s.LibraryFree != nil {
		left.library = s.LibraryFree() - s.MinFree
	}
	for _, t := range active {
		if !t.Stopped() {
			left.take(t.Left, t.Size)
		}
	}
	return left, nil
}

func (r *room) fits(bytes, size int64) bool { return bytes <= r.downloads && size <= r.library }

func (r *room) take(bytes, size int64) { r.downloads, r.library = r.downloads-bytes, r.library-size }

// maxApplicants is how many torrents one poll may admit: each costs some requests.
const maxApplicants = 20

// admit checks the torrents whose content has just become known: one that contains too much ends its source, and one
// that does not fit on the disk is stopped until it does. It returns the jobs that this poll leaves alone.
func (s *Sync) admit(
	ctx context.Context, index *torrentIndex, jobs []download.WatchedDownload, torrents []qbittorrent.Torrent,
) (held map[int64]bool) {
	held = map[int64]bool{}
	asking := map[string]bool{} // ids of torrents
	var applicants []download.WatchedDownload
	for _, job := range jobs {
		t := index.of(job)
		if t == nil || !job.Added || job.CancelRequested {
			continue
		}
		if unchecked := job.Size == 0 && (t.Size > 0 || t.State == qbittorrent.Complete); unchecked || job.NoRoom {
			applicants, held[job.ID], asking[t.ID] = append(applicants, job), unchecked, true
		}
	}
	if len(applicants) == 0 {
		return held
	}

	var others []qbittorrent.Torrent
	for _, t := range torrents {
		if !asking[t.ID] {
			others = append(others, t)
		}
	}
	left, err := s.Space.left(ctx, s.Torrents, others)
	if err != nil {
		s.Log.Warn("torrents not admitted", "error", err) // the next poll sees them again
		return held
	}

	// Waiting torrents never keep new ones out: the new ones come first.
	slices.SortStableFunc(applicants, func(a, b download.WatchedDownload) int { return cmp.Compare(min(a.Size, 1), min(b.Size, 1)) })
	decided := 0
	for _, job := range applicants {
		t := index.of(job)
		if job.Size > 0 && job.NoRoom && t.Stopped() && !left.fits(t.Left, t.Size) {
			continue
		}
		if decided++; decided > maxApplicants || ctx.Err() != nil {
			break
		}
		err := temporalio.LoopStep(ctx, func(ctx context.Context) (err error) {
			held[job.ID], err = s.decide(ctx, job, t, &left)
			return err
		})
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("torrent not admitted", "download", job.ID, "error", err)
		}
	}
	return held
}

// decide resumes or stops a torrent, or ends its source. hold: nothing more is to be done for the job in this poll.
func (s *Sync) decide(
	ctx context.Context, job download.WatchedDownload, t *qbittorrent.Torrent, left *room,
) (hold bool, err error) {
	if job.Size == 0 {
		_, err := s.Torrents.Files(ctx, *t)
		switch {
		case t.Size > torrent.MaxSize || fault.CodeOf(err) == fault.TorrentTooLarge:
			return true, s.refuse(ctx, job, *t)
		case err != nil:
			return true, err
		}
	}

	fits := left.fits(t.Left, t.Size) || t.State == qbittorrent.Complete
	if fits {
		left.take(t.Left, t.Size)
	}
	switch {
	case !fits && job.NoRoom && t.Stopped():
		return false, nil
	case fits && !job.NoRoom:
		found, isNew := s.observe(job, t)
		return job.NoMetadata && !isNew && !s.tell(ctx, notification{job, found}), nil
	case fits:
		err = s.Torrents.Resume(ctx, *t)
	default:
		err = s.Torrents.Stop(ctx, []qbittorrent.Torrent{*t})
	}
	if err == nil && s.tell(ctx, notification{job, lifecycle.Observation{JobID: job.ID, Place: job.Place, NoRoom: !fits}}) {
		err = s.Store.NoteRoom(ctx, job.ID, job.Place, !fits)
	}
	return true, err
}

// tell notifies a workflow of what no later poll would repeat, and reports whether that succeeded: only then may it be
// recorded.
func (s *Sync) tell(ctx context.Context, n notification) bool {
	s.notify(ctx, []notification{n})
	return s.taken(n)
}

// refuse ends a job's source whose torrent contains too much, and removes the torrent unless another job has it too.
func (s *Sync) refuse(ctx context.Context, job download.WatchedDownload, t qbittorrent.Torrent) error {
	if err := s.Store.NoteTrouble(ctx, job.ID, fault.TorrentTooLarge); err != nil {
		return err
	}
	tooLarge := lifecycle.Observation{JobID: job.ID, Place: job.Place, State: lifecycle.ObservedTooLarge}
	if s.notify(ctx, []notification{{job, tooLarge}}) == 0 || len(download.TaggedBy(t.Tags)) > 1 || !s.Torrents.Ours(t) {
		return nil
	}
	return s.Torrents.Delete(ctx, t, false)
}

// reportRoom alerts the administrators while a download waits for disk space.
func (s *Sync) reportRoom(ctx context.Context) {
	waits, err := s.Store.AnyWithoutRoom(ctx)
	switch {
	case err != nil:
	case waits:
		err = s.Alerts.RaiseAlert(ctx, notice.AlertDownloadsSpace)
	case s.noRoom == nil || *s.noRoom:
		err = s.Alerts.ResolveAlert(ctx, notice.AlertDownloadsSpace)
	}
	if err == nil {
		s.noRoom = &waits
		return
	}
	s.noRoom = nil // the store may write the incident later, after its cause is gone
	if ctx.Err() == nil {
		s.Log.Warn("free disk space not reported", "error", err)
	}
}

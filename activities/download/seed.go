package download

import (
	"context"
	"slices"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/download"
	"stagecoach/internal/temporalio"
)

// SeedRules determine when a torrent whose medium is in the library folder is removed: by the first rule that it meets.
type SeedRules struct {
	Ratio float64       // minimum share ratio; 0: it stays
	Time  time.Duration // minimum seeding time; 0: it stays
}

// met reports whether a torrent was seeded enough.
func (r SeedRules) met(t qbittorrent.Torrent) bool {
	return t.State == qbittorrent.Complete &&
		(r.Ratio > 0 && t.Ratio >= r.Ratio || r.Time > 0 && t.Seeded >= r.Time)
}

// seedEvery is the interval between two checks of all completed torrents: a list of 10,000 takes a second.
const seedEvery = time.Hour

// sweepSeeds removes some torrents that were seeded enough, with their files. The next poll continues.
func (s *Sync) sweepSeeds(ctx context.Context) {
	if s.Settings.Seeds == (SeedRules{}) || time.Since(s.seeded) < seedEvery {
		return
	}

	removed, err := s.removeSeeded(ctx)
	if err == nil && removed == 0 {
		s.seeded = time.Now()
	}
	s.reportTidyError(err)
}

func (s *Sync) removeSeeded(ctx context.Context) (removed int, err error) {
	for _, medium := range download.MediaTypes {
		var torrents []qbittorrent.Torrent
		err := temporalio.LoopStep(ctx, func(ctx context.Context) (err error) {
			torrents, err = s.Torrents.ListDone(ctx, medium)
			return err
		})
		if err != nil {
			return removed, err
		}

		seeded, err := s.planSeeded(ctx, torrents)
		if err != nil {
			return removed, err
		}
		for _, t := range seeded[:min(len(seeded), tidyDeletes)] {
			if err := s.removeOne(ctx, t); err != nil {
				return removed, err
			}
			removed++
		}
	}
	return removed, nil
}

// removeOne removes a torrent with its files and tags, unless another job has claimed it since it was listed.
func (s *Sync) removeOne(ctx context.Context, t qbittorrent.Torrent) error {
	var tags []string
	for _, named := range download.TaggedBy(t.Tags) {
		tags = append(tags, named.Tag())
	}

	return temporalio.LoopStep(ctx, func(ctx context.Context) error {
		now, err := s.Torrents.Find(ctx, tags[0], t.V1, t.V2)
		if err != nil || now == nil || s.Torrents.Active(*now) || len(now.Tags) != len(t.Tags) {
			return err
		}
		if err := s.Torrents.Delete(ctx, *now, false); err != nil {
			return err
		}
		return s.Torrents.DeleteTags(ctx, tags...)
	})
}

// planSeeded selects torrents that were seeded enough and that no job needs: each of their jobs has ended, and each
// completed one has its files in the library folder.
func (s *Sync) planSeeded(
	ctx context.Context, torrents []qbittorrent.Torrent,
) ([]qbittorrent.Torrent, error) {
	torrents = slices.DeleteFunc(torrents, func(t qbittorrent.Torrent) bool { return !s.Settings.Seeds.met(t) })
	var asked []int64
	for _, t := range torrents {
		for _, named := range download.TaggedBy(t.Tags) {
			asked = append(asked, named.Job)
		}
	}

	ended, err := s.endedOf(ctx, asked)
	return slices.DeleteFunc(torrents, func(t qbittorrent.Torrent) bool { return !imported(t, ended) }), err
}

// imported reports whether a torrent's files are in the library folder for every job that completed with it.
func imported(t qbittorrent.Torrent, ended map[int64]download.EndedDownload) bool {
	for _, named := range download.TaggedBy(t.Tags) {
		job, over := ended[named.Job]
		brought := statusOf(named, ended) == lifecycle.DownloadCompleted
		if !over || job.KeepFiles || brought && !job.Imported {
			return false
		}
	}
	return endOf(t, ended).Status == lifecycle.DownloadCompleted
}

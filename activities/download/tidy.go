package download

import (
	"context"
	"slices"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/download"
	"stagecoach/internal/temporalio"
)

// tidy sees to torrents in the active category whose jobs are all over: what is completed goes to the done category, so
// that the next answer stays small, and seeds on; what has failed goes there and is stopped, for the next try of the
// same torrent to go on with; what was canceled and came back by a late request is removed.
func (s *Sync) tidy(ctx context.Context, torrents []qbittorrent.Torrent) {
	ended, err := s.ended(ctx, torrents)
	temporalio.Progressed(ctx)
	if err != nil || len(ended) == 0 {
		s.untidy(err)
		return
	}

	var done, stop []qbittorrent.Torrent
	var tags []string
	deletes := 0
	for _, t := range torrents {
		end := endOf(t, ended)
		switch end.Status {
		case lifecycle.DownloadCompleted:
			done = append(done, t)
		case lifecycle.DownloadFailed:
			done, stop = append(done, t), append(stop, t)
		case lifecycle.DownloadCanceled:
			if deletes++; deletes > tidyDeletes {
				continue
			}
			if err := temporalio.LoopStep(ctx, func(ctx context.Context) error { return s.Torrents.Delete(ctx, t, end.KeepFiles) }); err != nil {
				s.untidy(err)
				return
			}
		case lifecycle.DownloadQueued, lifecycle.DownloadDownloading:
		default:
			continue
		}

		for _, id := range jobsOf(t.Tags) {
			if job := ended[id]; job.Status == lifecycle.DownloadFailed || job.Status == lifecycle.DownloadCanceled {
				tags = append(tags, download.Download{ID: id}.Tag())
			}
		}
	}

	for _, settle := range []func() error{
		func() error {
			return temporalio.LoopStep(ctx, func(ctx context.Context) error { return s.Torrents.Stop(ctx, stop) })
		},
		func() error {
			return temporalio.LoopStep(ctx, func(ctx context.Context) error { return s.Torrents.Finish(ctx, done) })
		},
		func() error { return s.dropTags(ctx, tags) },
	} {
		if err := settle(); err != nil {
			s.tagsLeft = true // in the done category no later poll meets them
			s.untidy(err)
			return
		}
	}
}

// ended finds out which of the jobs on these torrents are over. Where all are active, as nearly always, nothing is
// asked.
func (s *Sync) ended(
	ctx context.Context, torrents []qbittorrent.Torrent,
) (map[int64]download.EndedDownload, error) {
	var asked []int64
	for _, t := range torrents {
		for _, id := range jobsOf(t.Tags) {
			if _, active := s.present[id]; !active {
				asked = append(asked, id)
			}
		}
	}

	if len(asked) == 0 {
		return nil, nil
	}

	jobs, err := s.Store.EndedDownloads(ctx, asked)
	ended := make(map[int64]download.EndedDownload, len(jobs))
	for _, job := range jobs {
		ended[job.ID] = job
	}
	return ended, err
}

// endOf says what becomes of a torrent: a job that is not over, or not known here, keeps it (no status); one that is
// completed before one that has failed before one that was canceled, which deletes nothing that another wants to keep.
func endOf(t qbittorrent.Torrent, ended map[int64]download.EndedDownload) (end download.EndedDownload) {
	rank := map[lifecycle.DownloadState]int{
		lifecycle.DownloadCanceled: 1, lifecycle.DownloadFailed: 2, lifecycle.DownloadCompleted: 3,
	}

	keep := false
	for _, id := range jobsOf(t.Tags) {
		job, over := ended[id]
		if !over {
			return download.EndedDownload{}
		}
		keep = keep || job.KeepFiles
		if rank[job.Status] > rank[end.Status] {
			end = job
		}
	}

	end.KeepFiles = keep
	return end
}

// unseenEnds says whether a job is over whose torrent is not in the answer that the jobs which are still active were
// sought in.
func (s *Sync) unseenEnds(active map[int64]bool, watched *watch) bool {
	for id := range s.present {
		if _, goesOn := active[id]; !goesOn && watched.byJob[id] == nil {
			return true
		}
	}
	return false
}

// sweepTags drops the tags of jobs that have failed, or were canceled, where tidy does not meet them: of a torrent that
// somebody has removed by hand while its job ended, and of one that has left the active category before its tags. It
// costs some requests, and is done only when that may have happened.
func (s *Sync) sweepTags(ctx context.Context) {
	if !s.tagsLeft {
		return
	}
	stray, err := s.orphanedTags(ctx)
	if err == nil {
		err = s.dropTags(ctx, stray)
	}
	s.tagsLeft = err != nil
	s.untidy(err)
}

// tagsAtOnce is how many tags are dropped in one step: each costs qBittorrent a request.
const tagsAtOnce = 10

func (s *Sync) dropTags(ctx context.Context, tags []string) error {
	for some := range slices.Chunk(tags, tagsAtOnce) {
		if err := temporalio.LoopStep(ctx, func(ctx context.Context) error { return s.Torrents.DeleteTags(ctx, some...) }); err != nil {
			return err
		}
	}
	return nil
}

// orphanedTags finds tags of such jobs that no torrent in the active category carries.
func (s *Sync) orphanedTags(ctx context.Context) (stray []string, err error) {
	var tags []string
	err = temporalio.LoopStep(ctx, func(ctx context.Context) (err error) {
		tags, err = s.Torrents.Tags(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}

	ended, err := s.Store.EndedDownloads(ctx, jobsOf(tags))
	temporalio.Progressed(ctx)
	for _, job := range ended {
		if job.Status == lifecycle.DownloadCompleted {
			continue
		}

		tag := download.Download{ID: job.ID}.Tag()
		var holder *qbittorrent.Torrent
		err := temporalio.LoopStep(ctx, func(ctx context.Context) (err error) {
			holder, err = s.Torrents.Find(ctx, tag, "", "")
			return err
		})
		if err != nil {
			return nil, err
		}

		if holder == nil || !s.Torrents.Active(*holder) {
			stray = append(stray, tag)
		}
	}

	return stray, err
}

// untidy tells the log; the next poll tries again.
func (s *Sync) untidy(err error) {
	if problem := fault.As(err); problem != nil {
		s.Log.Warn("torrents of ended downloads are left as they are", "code", problem.Code, "cause", problem.Cause)
	}
}

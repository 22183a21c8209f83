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

// tidy handles torrents in the active category whose jobs have all ended.
func (s *Sync) tidy(ctx context.Context, torrents []qbittorrent.Torrent) {
	ended, err := s.ended(ctx, torrents)
	temporalio.Progressed(ctx)
	s.tidied = err == nil
	if err == nil && len(ended) > 0 {
		plan := planTidy(torrents, ended)
		s.tidied = len(plan.remove)+len(plan.finish) == 0
		err = s.applyTidy(ctx, plan)
	}
	s.reportTidyError(err)
}

// tidyPlan is what to do with torrents whose jobs have all ended.
type tidyPlan struct {
	remove []removal                        // canceled, and added again by a late request
	stop   []qbittorrent.Torrent            // failed: the next attempt with this torrent reuses the data
	finish map[string][]qbittorrent.Torrent // by the done category: "" for failed ones, the medium for completed ones
	tags   []string                         // of failed or canceled jobs, and of unneeded sources
	sweep  bool                             // tags may be left of sources whose torrents are gone
}

// removal is a torrent to delete.
type removal struct {
	torrent   qbittorrent.Torrent
	keepFiles bool
}

// planTidy sorts torrents by how their jobs ended. It plans few removals, because each one costs a request.
func planTidy(torrents []qbittorrent.Torrent, ended map[int64]download.EndedDownload) (plan tidyPlan) {
	plan.finish = map[string][]qbittorrent.Torrent{}
	for _, t := range torrents {
		switch end := endOf(t, ended); {
		case end.Status == lifecycle.DownloadCompleted:
			plan.finish[end.MediaType] = append(plan.finish[end.MediaType], t)
		case end.Status == lifecycle.DownloadFailed:
			plan.finish[""], plan.stop = append(plan.finish[""], t), append(plan.stop, t)
		case end.Status == lifecycle.DownloadCanceled && len(plan.remove) < tidyDeletes:
			plan.remove = append(plan.remove, removal{t, end.KeepFiles})
		default:
			continue
		}

		for _, named := range download.TaggedBy(t.Tags) {
			plan.sweep = plan.sweep || ended[named.Job].Place > 1
			if statusOf(named, ended) != lifecycle.DownloadCompleted {
				plan.tags = append(plan.tags, named.Tag())
			}
		}
	}

	return plan
}

// statusOf is how a job's source ended; empty: its job has not. One that did not bring a completed job's medium is no
// longer needed.
func statusOf(source download.Tagged, ended map[int64]download.EndedDownload) lifecycle.DownloadState {
	job := ended[source.Job]
	if job.Status == lifecycle.DownloadCompleted && job.Place != source.Place {
		return lifecycle.DownloadCanceled
	}
	return job.Status
}

// applyTidy executes a plan, up to the first error.
func (s *Sync) applyTidy(ctx context.Context, plan tidyPlan) error {
	for _, r := range plan.remove {
		err := temporalio.LoopStep(ctx, func(ctx context.Context) error {
			return s.Torrents.Delete(ctx, r.torrent, r.keepFiles)
		})
		if err != nil {
			return err
		}
	}

	err := temporalio.LoopStep(ctx, func(ctx context.Context) error { return s.Torrents.Stop(ctx, plan.stop) })
	for medium, torrents := range plan.finish {
		if err == nil {
			err = temporalio.LoopStep(ctx, func(ctx context.Context) error {
				return s.Torrents.Finish(ctx, torrents, medium)
			})
		}
	}

	if err == nil {
		err = s.dropTags(ctx, plan.tags)
	}

	s.tagsLeft = s.tagsLeft || plan.sweep || err != nil // no later poll finds them in the done category
	return err
}

// ended returns which of the jobs on these torrents have ended. In most polls all are active; then it queries nothing.
func (s *Sync) ended(
	ctx context.Context, torrents []qbittorrent.Torrent,
) (map[int64]download.EndedDownload, error) {
	var asked []int64
	for _, t := range torrents {
		for _, named := range download.TaggedBy(t.Tags) {
			if _, active := s.present[named.Job]; !active {
				asked = append(asked, named.Job)
			}
		}
	}

	if len(asked) == 0 {
		return nil, nil
	}
	return s.endedOf(ctx, asked)
}

// endedOf returns which of these jobs have ended.
func (s *Sync) endedOf(ctx context.Context, asked []int64) (map[int64]download.EndedDownload, error) {
	jobs, err := s.Store.Ended(ctx, asked)
	temporalio.Progressed(ctx)
	ended := make(map[int64]download.EndedDownload, len(jobs))
	for _, job := range jobs {
		ended[job.ID] = job
	}
	return ended, err
}

// endOf returns the end that decides about a torrent: completed takes precedence over failed, and failed over canceled,
// so that no files are deleted that another job keeps. It has no status while a job is live or unknown.
func endOf(t qbittorrent.Torrent, ended map[int64]download.EndedDownload) (end download.EndedDownload) {
	rank := map[lifecycle.DownloadState]int{
		lifecycle.DownloadCanceled: 1, lifecycle.DownloadFailed: 2, lifecycle.DownloadCompleted: 3,
	}

	keep := false
	for _, named := range download.TaggedBy(t.Tags) {
		job, over := ended[named.Job]
		if !over {
			return download.EndedDownload{}
		}
		job.Status = statusOf(named, ended)
		keep = keep || job.KeepFiles
		if rank[job.Status] > rank[end.Status] {
			end = job
		}
	}

	end.KeepFiles = keep
	return end
}

// sweepTags drops the tags of failed and canceled jobs that tidy does not find: a person removed the torrent by hand
// while its job ended, or the torrent left the active category before its tags were dropped. It costs some requests and
// runs only if one of the two may have happened, and after tidy: the tag of a torrent about to be removed would stay.
func (s *Sync) sweepTags(ctx context.Context) {
	if !s.tagsLeft || !s.tidied {
		return
	}

	orphaned, err := s.orphanedTags(ctx)
	if err == nil {
		err = s.dropTags(ctx, orphaned)
	}
	s.tagsLeft = err != nil
	s.reportTidyError(err)
}

// tagsAtOnce is how many tags are dropped in one step: each costs qBittorrent a request.
const tagsAtOnce = 10

func (s *Sync) dropTags(ctx context.Context, tags []string) error {
	for some := range slices.Chunk(tags, tagsAtOnce) {
		err := temporalio.LoopStep(ctx, func(ctx context.Context) error { return s.Torrents.DeleteTags(ctx, some...) })
		if err != nil {
			return err
		}
	}
	return nil
}

// orphanedTags returns tags of ended jobs that no torrent in the active category has.
func (s *Sync) orphanedTags(ctx context.Context) (orphaned []string, err error) {
	var tags []string
	err = temporalio.LoopStep(ctx, func(ctx context.Context) (err error) {
		tags, err = s.Torrents.Tags(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}

	var asked []int64
	named := download.TaggedBy(tags)
	for _, source := range named {
		asked = append(asked, source.Job)
	}
	ended, err := s.endedOf(ctx, asked)
	temporalio.Progressed(ctx)
	for _, source := range named {
		if status := statusOf(source, ended); status == "" || status == lifecycle.DownloadCompleted {
			continue
		}

		tag := source.Tag()
		var holder *qbittorrent.Torrent
		err := temporalio.LoopStep(ctx, func(ctx context.Context) (err error) {
			holder, err = s.Torrents.Find(ctx, tag, "", "")
			return err
		})
		if err != nil {
			return nil, err
		}

		if holder == nil || !s.Torrents.Active(*holder) {
			orphaned = append(orphaned, tag)
		}
	}

	return orphaned, err
}

// reportTidyError logs why something was left untidy; the next poll tries again.
func (s *Sync) reportTidyError(err error) {
	if problem := fault.As(err); problem != nil {
		s.Log.Warn("torrents of ended downloads not cleaned up", "code", problem.Code, "cause", problem.Cause)
	}
}

package download

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Source is a torrent that a job may download.
type Source struct {
	SourceURL string `json:"source_url"`
	Title     string `json:"title"`
	Indexer   string `json:"indexer"`  // where the link was found
	Size      int64  `json:"size"`     // bytes; 0: unknown
	Infohash  string `json:"infohash"` // lower-case hex, of version 1 or 2; empty: unknown
}

// MaxSources is how many sources a job may have.
const MaxSources = 10

// JobSource is one of several sources of a job.
type JobSource struct {
	Source
	Place   int    `json:"place"`   // from 1, in the order in which they are tried
	Outcome string `json:"outcome"` // a fault code: why another one is tried; empty: not tried, or being tried
}

// DownloadTagPrefix is the prefix of all tags.
const DownloadTagPrefix = "job-"

// Tagged is what a tag in qBittorrent names: a job and one of its sources.
type Tagged struct {
	Job   int64
	Place int
}

// Tag is the tag on the torrent of this source: the one key that lasts. That of the first source is the job's alone.
func (t Tagged) Tag() string {
	tag := DownloadTagPrefix + strconv.FormatInt(t.Job, 10)
	if t.Place > 1 {
		tag += "." + strconv.Itoa(t.Place)
	}
	return tag
}

// TaggedBy lists the sources of jobs that these tags name.
func TaggedBy(tags []string) (named []Tagged) {
	for _, tag := range tags {
		number, isJob := strings.CutPrefix(tag, DownloadTagPrefix)
		number, place, later := strings.Cut(number, ".")
		source := Tagged{Place: 1}
		source.Job, _ = strconv.ParseInt(number, 10, 64)
		if later {
			source.Place, _ = strconv.Atoi(place)
		}
		if isJob && source.Job > 0 && source.Place <= MaxSources && source.Tag() == tag {
			named = append(named, source)
		}
	}
	return named
}

// Tag is the tag on the torrent of the job's current source.
func (d Download) Tag() string { return Tagged{d.ID, d.SourcePlace}.Tag() }

// Tags are those of all the job's sources.
func (d Download) Tags() []string {
	tags := []string{Tagged{Job: d.ID}.Tag()}
	for place := 2; place <= len(d.Sources); place++ {
		tags = append(tags, Tagged{d.ID, place}.Tag())
	}
	return tags
}

// AsksFor says whether a link is the one that a job was asked for with, or is tried now.
func (d Download) AsksFor(link string) bool {
	return d.SourceURL == link || len(d.Sources) > 0 && d.Sources[0].SourceURL == link
}

// sourcesColumn reads the sources of job d.
const sourcesColumn = `(SELECT coalesce(jsonb_agg(jsonb_build_object('place', place, 'source_url', s.source_url, 'title', title,
		'indexer', indexer, 'size', s.size, 'infohash', coalesce(nullif(s.infohash_v1, ''), s.infohash_v2), 'outcome', outcome)
		ORDER BY place), '[]') FROM download_sources s WHERE s.job_id = d.id) AS sources`

// Switch leaves a job's source for another one. It returns the job as it is then: unchanged where the source was left
// before, no other one is left, that one has no file of the medium, or a person ends the job.
func (s *Store) Switch(ctx context.Context, by lifecycle.DownloadSwitch) (Download, error) {
	return s.Change(ctx, by.JobID, func(walk *DownloadWalk) error {
		job := walk.Row
		to := slices.IndexFunc(job.Sources, func(s JobSource) bool {
			wanted := s.Place == by.To && s.Outcome != string(fault.MediumUnsuitable) || by.To == 0 && s.Outcome == ""
			return wanted && s.Place != job.SourcePlace
		})
		if walk.Terminal() || job.SourcePlace != by.From || to < 0 || job.CancelRequestedAt != nil {
			return nil
		}

		outcome := by.Outcome
		if outcome == fault.EnqueueFailed && job.LastError != "" { // which says more
			outcome = fault.Code(job.LastError)
		}
		event := lifecycle.DownloadNextSource
		if by.To != 0 {
			event = lifecycle.DownloadEarlierSource
		}
		walk.NoteWhy(event, string(outcome))
		job.leave(job.Sources[to], string(outcome), by.To != 0)
		return nil
	})
}

// leave makes another source the current one, whose torrent is there already or not.
func (d *Download) leave(to JobSource, outcome string, there bool) {
	d.left = d.SourcePlace
	d.Sources[d.left-1].Outcome, d.Sources[to.Place-1].Outcome = outcome, ""
	d.SourcePlace, d.SourcesLeft = to.Place, 0
	for _, s := range d.Sources {
		if s.Place != to.Place && s.Outcome == "" {
			d.SourcesLeft++
		}
	}

	d.AddedAt = nil
	if there {
		d.AddedAt = &d.Now
	}
	d.Progress, d.Speed, d.ETA, d.ContentPath = 0, 0, nil, ""
	d.FirstNotFoundAt, d.Attention, d.LastError = nil, "", ""
}

// queueLeave writes that a job has left a source for another one. What is known of the torrent is kept with its source.
func queueLeave(write *pgx.Batch, d *Download) {
	left := d.Sources[d.left-1]
	write.Queue(`UPDATE download_sources s SET outcome = $3, infohash_v1 = coalesce(nullif(d.infohash_v1, ''), s.infohash_v1),
		infohash_v2 = coalesce(nullif(d.infohash_v2, ''), s.infohash_v2)
		FROM download_jobs d WHERE d.id = $1 AND s.job_id = d.id AND s.place = $2`, d.ID, left.Place, left.Outcome)
	write.Queue(`UPDATE download_sources SET outcome = '' WHERE job_id = $1 AND place = $2`, d.ID, d.SourcePlace)
	write.Queue(`UPDATE download_jobs d SET source_place = s.place, sources_left = $3, source_url = s.source_url,
		source = coalesce(nullif(s.indexer, ''), CASE WHEN s.source_url ILIKE 'magnet:%' THEN 'magnet' ELSE 'torrent' END),
		infohash_v1 = CASE WHEN $4::timestamptz IS NOT NULL OR s.source_url ILIKE 'magnet:%' THEN s.infohash_v1 ELSE '' END,
		infohash_v2 = CASE WHEN $4::timestamptz IS NOT NULL OR s.source_url ILIKE 'magnet:%' THEN s.infohash_v2 ELSE '' END,
		external_job_id = NULL, torrent = NULL, save_path = '', size = 0, added_at = $4, progress_at = $4, resumed_at = NULL
		FROM download_sources s WHERE d.id = $1 AND s.job_id = d.id AND s.place = $2`, d.ID, d.SourcePlace, d.SourcesLeft, d.AddedAt)
}

// FailedReleases gives the infohashes and links of the releases that have failed, or stood still, for a medium of a
// book. The index download_jobs_book serves it.
func (s *Store) FailedReleases(ctx context.Context, book int64, mediaType string) ([]string, error) {
	return core.Values[string](ctx, s.db, `SELECT DISTINCT known FROM (
			SELECT s.infohash_v1, s.infohash_v2, s.source_url FROM download_sources s JOIN download_jobs d ON d.id = s.job_id
				WHERE d.book_id = $1 AND d.media_type = $2 AND s.outcome <> ''
			UNION ALL SELECT infohash_v1, infohash_v2, source_url FROM download_jobs
				WHERE book_id = $1 AND media_type = $2 AND failure_reason IN ($3, $4, $5)
		) failed, unnest(ARRAY[infohash_v1, infohash_v2, source_url]) AS known WHERE known <> ''`,
		book, mediaType, fault.ProviderError, fault.MissingExternalJob, fault.EnqueueFailed)
}

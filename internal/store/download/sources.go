package download

import (
	"context"
	"crypto/sha256"
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
	Infohash  string `json:"infohash"` // lower-case hex, version 1 or 2, as claimed until verified; empty: unknown
}

// MaxSources is how many sources a job may have.
const MaxSources = 10

// JobSource is one of several sources of a job.
type JobSource struct {
	Source
	Place   int    `json:"place"`   // from 1, in the order of trying
	Outcome string `json:"outcome"` // a fault code: why another one is tried; empty: untried, or being tried
}

// DownloadTagPrefix is the prefix of all tags.
const DownloadTagPrefix = "job-"

// Tagged is what a tag in qBittorrent refers to: a job and one of its sources.
type Tagged struct {
	Job   int64
	Place int
}

// Tag is the tag on this source's torrent: the only permanent key. The first source's tag names only the job.
func (t Tagged) Tag() string {
	tag := DownloadTagPrefix + strconv.FormatInt(t.Job, 10)
	if t.Place > 1 {
		tag += "." + strconv.Itoa(t.Place)
	}
	return tag
}

// TaggedBy returns the sources of jobs to which these tags refer.
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

// Tags are the tags of all the job's sources.
func (d Download) Tags() []string {
	tags := []string{Tagged{Job: d.ID}.Tag()}
	for place := 2; place <= len(d.Sources); place++ {
		tags = append(tags, Tagged{d.ID, place}.Tag())
	}
	return tags
}

// AsksFor reports whether a link is the one with which a job was requested, or the one being tried.
func (d Download) AsksFor(link string) bool {
	return d.SourceURL == link || len(d.Sources) > 0 && d.Sources[0].SourceURL == link
}

// sourcesColumn reads the sources of job d.
const sourcesColumn = `(SELECT coalesce(jsonb_agg(jsonb_build_object('place', place, 'source_url', s.source_url, 'title', title,
		'indexer', indexer, 'size', s.size, 'infohash', coalesce(nullif(s.infohash_v1, ''), nullif(s.infohash_v2, ''), claimed),
		'outcome', outcome)
		ORDER BY place), '[]') FROM download_sources s WHERE s.job_id = d.id) AS sources`

// Switch moves a job to another source. It returns the updated job: unchanged if the source was abandoned before, no
// other one is left, that one has no file of the medium, or a person is ending the job.
func (s *Store) Switch(ctx context.Context, by lifecycle.DownloadSwitch) (Download, error) {
	job, err := s.Change(ctx, by.JobID, func(walk *DownloadWalk) error {
		job := walk.Row
		to := slices.IndexFunc(job.Sources, func(s JobSource) bool {
			wanted := s.Place == by.To && s.Outcome != string(fault.MediumUnsuitable) || by.To == 0 && s.Outcome == ""
			return wanted && s.Place != job.SourcePlace
		})
		if walk.Terminal() || job.SourcePlace != by.From || to < 0 || job.CancelRequestedAt != nil {
			return nil
		}

		outcome := by.Outcome
		if outcome == fault.EnqueueFailed && job.LastError != "" { // which is more specific
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
	if err != nil || job.left == 0 {
		return job, err
	}
	return s.ByID(ctx, by.JobID) // the job's torrent details belonged to the previous source
}

// leave makes another source current, whose torrent may already be there.
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

// queueLeave records that a job has switched sources. What is known about a torrent is kept with its source.
func queueLeave(write *pgx.Batch, d *Download) {
	left := d.Sources[d.left-1]
	write.Queue(`UPDATE download_sources s SET outcome = $3, infohash_v1 = coalesce(nullif(d.infohash_v1, ''), s.infohash_v1),
		infohash_v2 = coalesce(nullif(d.infohash_v2, ''), s.infohash_v2)
		FROM download_jobs d WHERE d.id = $1 AND s.job_id = d.id AND s.place = $2`, d.ID, left.Place, left.Outcome)
	write.Queue(`UPDATE download_sources SET outcome = '' WHERE job_id = $1 AND place = $2`, d.ID, d.SourcePlace)
	write.Queue(`UPDATE download_jobs d SET source_place = s.place, sources_left = $3, source_url = s.source_url,
		source = coalesce(nullif(s.indexer, ''), CASE WHEN s.source_url ILIKE 'magnet:%' THEN 'magnet' ELSE 'torrent' END),
		infohash_v1 = s.infohash_v1, infohash_v2 = s.infohash_v2, external_job_id = NULL, torrent = NULL, save_path = '', size = 0, added_at = $4, progress_at = $4, resumed_at = NULL
		FROM download_sources s WHERE d.id = $1 AND s.job_id = d.id AND s.place = $2`, d.ID, d.SourcePlace, d.SourcesLeft, d.AddedAt)
}

// remembered is how many of a user's latest downloads for a medium are searched for failures.
const remembered = 100

// Failed returns which sources have failed or stalled for a book's medium before, in downloads of the person or the
// person's agents. A source is identified by its link, and by an infohash seen in a torrent: a claimed one marks no
// other source. Served by the index download_jobs_book.
func (s *Store) Failed(
	ctx context.Context, person, book int64, mediaType string, sources []Source,
) ([]bool, error) {
	links, infohashes := make([][]byte, len(sources)), make([]string, len(sources))
	for i, source := range sources {
		link := sha256.Sum256([]byte(source.SourceURL))
		links[i], infohashes[i] = link[:], source.Infohash
	}

	return core.Values[bool](ctx, s.db, `WITH tried AS MATERIALIZED (
			SELECT latest.* FROM users u CROSS JOIN LATERAL (
				SELECT id, link_hash, infohash_v1, infohash_v2, failure_reason FROM download_jobs
				WHERE book_id = $2 AND media_type = $3 AND user_id = u.id ORDER BY id DESC LIMIT $6
			) latest WHERE u.id = $1 OR u.owner_id = $1
		), failed AS MATERIALIZED (
			SELECT s.link_hash, s.infohash_v1, s.infohash_v2 FROM tried JOIN download_sources s ON s.job_id = tried.id WHERE s.outcome <> ''
			UNION ALL SELECT link_hash, infohash_v1, infohash_v2 FROM tried WHERE failure_reason IN ($7, $8, $9)
		) SELECT EXISTS (SELECT FROM failed f WHERE f.link_hash = asked.link_hash
			OR asked.infohash <> '' AND asked.infohash IN (f.infohash_v1, f.infohash_v2))
		FROM unnest($4::bytea[], $5::text[]) WITH ORDINALITY AS asked (link_hash, infohash, place) ORDER BY place`,
		person, book, mediaType, links, infohashes, remembered, fault.ProviderError, fault.MissingExternalJob, fault.EnqueueFailed)
}

package store_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
)

// TestTags names the sources of jobs by tags, and parses them again.
func TestTags(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]download.Tagged{
		"job-7": {Job: 7, Place: 1}, "job-7.2": {Job: 7, Place: 2}, "job-7.10": {Job: 7, Place: 10},
	} {
		if got := download.TaggedBy([]string{"films", tag}); len(got) != 1 || got[0] != want || want.Tag() != tag {
			t.Errorf("%s: %v, %s", tag, got, want.Tag())
		}
	}

	odd := []string{"job-", "job-0", "job--1", "job-7.1", "job-7.0", "job-7.", "job-7.x", "job-7.11", "job-7.02", "job-07", "Job-7", "job-7.2.3"}
	if got := download.TaggedBy(odd); len(got) != 0 {
		t.Errorf("%v", got)
	}

	job := download.Download{ID: 7, SourcePlace: 2, Sources: make([]download.JobSource, 3)}
	if got := fmt.Sprint(job.Tag(), " ", job.Tags()); got != "job-7.2 [job-7 job-7.2 job-7.3]" {
		t.Error(got)
	}
}

func sourceLink(n int) string { return fmt.Sprintf("magnet:?xt=urn:btih:%040d", n) }

// severalSources records a job with three sources.
func (s *downloadRig) severalSources() download.Download {
	s.t.Helper()
	var sources []download.JobSource
	for n := 1; n <= 3; n++ {
		sources = append(sources, download.JobSource{Place: n, Source: download.Source{
			SourceURL: sourceLink(n), Title: fmt.Sprint("Release ", n), Indexer: "Some Indexer", Size: 5, Infohash: sourceLink(n)[20:],
		}})
	}
	wanted := s.ask(s.ann)
	wanted.SourceURL, wanted.InfohashV1, wanted.Sources = sourceLink(1), sourceLink(1)[20:], sources
	job, _, err := s.Downloads.Create(s.t.Context(), wanted, core.Event{Type: "enqueued", To: "queued"})
	s.must(err)
	return job
}

// failed returns which sources have failed for a user's text of the book.
func (s *downloadRig) failed(user account.User, sources ...download.Source) string {
	s.t.Helper()
	failed, err := s.Downloads.Failed(s.t.Context(), user.PersonID(), s.book.ID, "text", sources)
	s.must(err)
	return fmt.Sprint(failed)
}

func outcomes(job download.Download) string {
	text := fmt.Sprintf("%d of %d, %d left:", job.SourcePlace, len(job.Sources), job.SourcesLeft)
	for _, source := range job.Sources {
		text += " " + source.Outcome + ","
	}
	return strings.TrimSuffix(text, ",")
}

// TestNextSource switches through a job's sources, and returns to the first one.
func TestNextSource(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	ctx := t.Context()
	job := s.severalSources()
	if got := outcomes(job); got != "1 of 3, 2 left: , , " {
		t.Error(got)
	}

	s.must(s.Downloads.MarkAdded(ctx, job.ID, 1))
	s.exec(`UPDATE download_jobs SET infohash_v2 = $2, save_path = '/a', progress = 0.5, attention = 'stalled', torrent = 'x' WHERE id = $1`,
		job.ID, strings.Repeat("a", 64))

	to := func(by lifecycle.DownloadSwitch, want string) download.Download {
		t.Helper()
		by.JobID = job.ID
		var mutex sync.Mutex
		var all sync.WaitGroup
		for range 3 { // concurrently, as retries may be
			all.Go(func() {
				got, err := s.Downloads.Switch(ctx, by)
				mutex.Lock()
				defer mutex.Unlock()
				if err != nil || outcomes(got) != want {
					t.Errorf("%s, want %s; %v", outcomes(got), want, err)
				}
			})
		}
		all.Wait()
		now, err := s.Downloads.ByID(ctx, job.ID)
		s.must(err)
		if outcomes(now) != want {
			t.Errorf("%s, want %s", outcomes(now), want)
		}
		return now
	}

	second := to(lifecycle.DownloadSwitch{From: 1, Outcome: fault.Stalled}, "2 of 3, 1 left: stalled, , ")
	if second.SourceURL != sourceLink(2) || second.InfohashV1 != sourceLink(2)[20:] || second.InfohashV2 != "" ||
		second.SavePath != "" || second.Progress != 0 || second.Attention != "" || second.AddedAt != nil {
		t.Errorf("%+v", second)
	}

	// late writes about the first source
	s.must(s.Downloads.MarkAdded(ctx, job.ID, 1))
	s.must(s.Downloads.SaveFile(ctx, job.ID, 1, []byte("late"), "", ""))
	s.must(s.Downloads.Place(ctx, job.ID, 1, "/late"))
	written, err := s.Downloads.SaveProgress(ctx, []download.Progress{{ID: job.ID, Place: 1, Progress: 0.9}})
	s.must(err)
	file, err := s.Downloads.File(ctx, job.ID)
	s.must(err)
	if now, _ := s.Downloads.ByID(ctx, job.ID); now.AddedAt != nil || now.SavePath != "" || written != 0 || file != nil {
		t.Errorf("%+v, %d written, %q", now, written, file)
	}

	s.must(s.Downloads.NoteTrouble(ctx, job.ID, fault.SourceRefused))
	third := to(lifecycle.DownloadSwitch{From: 2, Outcome: fault.EnqueueFailed}, "3 of 3, 0 left: stalled, SOURCE_REFUSED, ")
	to(lifecycle.DownloadSwitch{From: 3, Outcome: fault.Stalled}, outcomes(third)) // none is left
	to(lifecycle.DownloadSwitch{From: 1, Outcome: fault.Stalled}, outcomes(third)) // late
	asked := []download.Source{
		{SourceURL: "https://example.org/1", Infohash: sourceLink(1)[20:]},
		{SourceURL: "https://example.org/1", Infohash: strings.Repeat("a", 64)},
		{SourceURL: sourceLink(2)},
		{SourceURL: sourceLink(3), Infohash: sourceLink(3)[20:]},
		{SourceURL: "https://example.org/4"},
	}
	if got, want := s.failed(s.ann, asked...), "[true true true false false]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	first := to(lifecycle.DownloadSwitch{From: 3, To: 1}, "1 of 3, 1 left: , SOURCE_REFUSED, ")
	if first.InfohashV2 != strings.Repeat("a", 64) || first.AddedAt == nil || first.SourceURL != sourceLink(1) {
		t.Errorf("%+v", first)
	}

	// One without files of the medium is never tried again.
	unsuitable := to(lifecycle.DownloadSwitch{From: 1, Outcome: fault.MediumUnsuitable}, "3 of 3, 0 left: MEDIUM_UNSUITABLE, SOURCE_REFUSED, ")
	to(lifecycle.DownloadSwitch{From: 3, To: 1}, outcomes(unsuitable))
	watched, err := s.Downloads.Watched(ctx, 0, 10)
	s.must(err)
	if len(watched) != 1 || !slices.Equal(watched[0].Unsuitable, []int{1}) {
		t.Errorf("%+v", watched)
	}

	events, err := s.Notices.EventsOf(ctx, "download", fmt.Sprint(job.ID))
	s.must(err)
	var story []string
	for _, e := range events {
		story = append(story, strings.TrimSpace(e.Type+" "+e.Comment))
	}
	if got := strings.Join(story, ", "); got != "enqueued, next_source stalled, next_source SOURCE_REFUSED, earlier_source, next_source MEDIUM_UNSUITABLE" {
		t.Error(got)
	}
}

// TestNextSourceAndTheEnd switches no source of an ending job.
func TestNextSourceAndTheEnd(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	ctx := t.Context()
	job := s.severalSources()
	s.askToCancel(job)
	got, err := s.Downloads.Switch(ctx, lifecycle.DownloadSwitch{JobID: job.ID, From: 1, Outcome: fault.Stalled})
	if err != nil || got.SourcePlace != 1 || got.CancelRequestedAt == nil {
		t.Errorf("%+v, %v", got, err)
	}

	if _, err := s.Downloads.Switch(ctx, lifecycle.DownloadSwitch{JobID: 99, From: 1}); fault.CodeOf(err) != fault.DownloadNotFound {
		t.Error(err)
	}
}

// TestAFailureIsOnesOwn remembers a failure for the person and the person's agents, by the link and by what was seen of
// the torrent: a claimed infohash of a dead link marks no release.
func TestAFailureIsOnesOwn(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	ctx := t.Context()
	agent, err := s.Accounts.CreateAgent(ctx, s.ann.ID, "agent", account.Token{Name: "first", Scopes: account.Scopes}, strings.Repeat("a", 40))
	s.must(err)
	const dead = `https://example.org/dead\x41?"q"=ü`
	good := download.Source{SourceURL: "https://example.org/good", Infohash: strings.Repeat("b", 40)}
	leave := func(user account.User, place int, seen string) {
		t.Helper()
		wanted := s.ask(user)
		wanted.SourceURL = dead
		wanted.Sources = []download.JobSource{
			{Place: 1, Source: download.Source{SourceURL: dead, Infohash: good.Infohash}}, {Place: 2, Source: download.Source{SourceURL: sourceLink(9)}},
		}
		job, _, err := s.Downloads.Create(ctx, wanted, core.Event{Type: "enqueued", To: "queued"})
		s.must(err)
		if seen != "" {
			s.must(s.Downloads.SaveFile(ctx, job.ID, 1, []byte("file"), seen, ""))
		}
		_, err = s.Downloads.Switch(ctx, lifecycle.DownloadSwitch{JobID: job.ID, From: 1, Outcome: fault.EnqueueFailed})
		s.must(err)
		s.exec(`UPDATE download_jobs SET status = 'canceled' WHERE id = $1`, job.ID)
	}
	wants := func(want string, users ...account.User) {
		t.Helper()
		for _, user := range users {
			if got := s.failed(user, download.Source{SourceURL: dead}, good); got != want {
				t.Errorf("user %d: %s, want %s", user.ID, got, want)
			}
		}
	}

	leave(s.bob, 1, "") // who claims the infohash of a good release
	wants("[true false]", s.bob)
	wants("[false false]", s.ann, agent)

	leave(agent, 1, good.Infohash) // in whose file it was read
	wants("[true true]", s.ann, agent)
	wants("[true false]", s.bob)

	for range 100 {
		s.exec(`INSERT INTO download_jobs (user_id, book_id, media_type, status, source, source_url) VALUES ($1, $2, 'text', 'canceled', 's', 'u')`, agent.ID, s.book.ID)
	}
	wants("[false false]", s.ann) // the latest downloads count
}

package torrentsim

import (
	"errors"
	"path"
	"strings"
	"time"
)

const (
	unlimitedRatio = -1 // a torrent that is seeded without limit, whatever the program's settings say
	globalRatio    = -2 // a torrent that follows the program's settings
)

// Never as the duration of a part of a TorrentPlan makes that part last forever.
const Never time.Duration = -1

// TorrentPlan is the course of a torrent. Its parts follow each other in the order of the fields. A part of 0 is
// skipped, and a part that is Never does not end: a magnet link without peers, a torrent without a seeder.
type TorrentPlan struct {
	Hidden   time.Duration // added but not listed yet: a deletion at this time succeeds without effect
	Meta     time.Duration // metaDL: until a magnet link has its metadata
	Check    time.Duration // checkingResumeData
	Duration time.Duration // downloading; stalledDL when Never
	Moving   time.Duration // moving: all bytes are there, and the path is still the old one
	Size     int64         // of a magnet link's content, in bytes; 0 means 1 MiB
	Hybrid   bool          // the metadata of a magnet link shows a second, newer hash, which then identifies the torrent
}

// Reasons that stop a torrent, besides the states that a test pins.
const (
	holdPaused  = "paused" // shown under its version's name for it
	holdError   = "error"
	holdMissing = "missingFiles"
	holdStalled = "stalledDL"
)

// simTorrent is one torrent; its fields survive a restart.
type simTorrent struct {
	V1, V2     string // info hashes, lower-case hex; V2 of a hybrid magnet link comes with the metadata
	Name       string
	Size       int64
	Magnet     bool // starts without metadata
	Category   string
	Tags       []string // sorted
	SavePath   string
	RatioLimit float64
	SeedLimit  int64 // minutes
	AddedOn    time.Time
	Plan       TorrentPlan
	Stops      bool // stops by itself once its files are known and checked
	Gone       bool // its files are missing, which only a recheck notices
	Ratio      float64
	Files      []TorrentFile // nil: one with the torrent's name
	From       []savedFile   // that its web seed serves
	Lacks      bool          // its files are not fetched yet
	Recheck    time.Time     // when a recheck begins to show; zero: none runs

	Spent       time.Duration // of the plan, until Since
	Since       time.Time     // when the clock began to run again; zero while it is stopped
	Hold        string        // why it is stopped: one of the reasons above, or a pinned state
	CompletedOn time.Time     // zero until all bytes are there
}

// phase is a part of a torrent's life, in the order of its plan.
type phase int

const (
	inHiding phase = iota
	inMeta
	inCheck
	inDownload
	inMove
	inSeed
)

// hash identifies the torrent: 40 digits, of the newer info hash when there is one.
func (t *simTorrent) hash() string {
	if t.V2 != "" {
		return t.V2[:40]
	}
	return t.V1
}

// is reports whether the torrent has one of the other's info hashes.
func (t *simTorrent) is(o *simTorrent) bool {
	return t.V1 != "" && t.V1 == o.V1 || t.V2 != "" && t.V2 == o.V2
}

// before is the duration of the parts before a phase; endless when one of them is Never.
func (t *simTorrent) before(p phase) (d time.Duration, endless bool) {
	parts := [...]time.Duration{t.Plan.Hidden, t.Plan.Meta, t.Plan.Check, t.Plan.Duration, t.Plan.Moving}
	for i, part := range parts[:p] {
		if phase(i) == inMeta && !t.Magnet {
			continue
		}
		if part < 0 {
			return 0, true
		}
		d += part
	}

	return d, false
}

func (t *simTorrent) elapsed(now time.Time) time.Duration {
	if t.Since.IsZero() {
		return t.Spent
	}
	return t.Spent + now.Sub(t.Since)
}

// at returns the present phase of the torrent and how long it has lasted.
func (t *simTorrent) at(now time.Time) (phase, time.Duration) {
	elapsed := t.elapsed(now)
	for p := inSeed; p > inHiding; p-- {
		if p > inDownload && t.Lacks || p > inMeta && t.Lacks && t.Magnet {
			continue
		}
		if start, endless := t.before(p); !endless && elapsed >= start {
			return p, elapsed - start
		}
	}
	return inHiding, elapsed
}

// shown reports whether the Web API lists the torrent by now.
func (t *simTorrent) shown(now time.Time) bool {
	p, _ := t.at(now)
	return p > inHiding
}

// progress is the share of bytes that are complete, from 0 to 1.
func (t *simTorrent) progress(now time.Time) float64 {
	switch p, into := t.at(now); {
	case p > inDownload:
		return 1
	case p == inDownload && t.Plan.Duration > 0:
		return min(float64(into)/float64(t.Plan.Duration), 0.99)
	}
	return 0
}

// settle makes happen what is due.
func (t *simTorrent) settle(now time.Time, diskFull bool) {
	p, into := t.at(now)
	if t.Magnet && t.Plan.Hybrid && t.V2 == "" && p > inMeta {
		t.V2 = laterHash(t.V1)
	}

	if !t.CompletedOn.IsZero() || p < inDownload {
		return
	}

	start, _ := t.before(inDownload)
	if t.Stops && t.Hold == "" {
		t.Spent, t.Since, t.Hold, t.Stops = start, time.Time{}, holdPaused, false
		return
	}
	badPath := strings.HasPrefix(t.SavePath, "/proc/") // nothing can be created there
	switch {
	case t.Hold == "" && (badPath || diskFull):
		if badPath || p > inDownload {
			into = 0
		}
		t.Spent, t.Since, t.Hold = start+into, time.Time{}, holdError
	case p > inDownload:
		t.CompletedOn = now
		if end := start + t.Plan.Duration; !t.Since.IsZero() {
			t.CompletedOn = t.Since.Add(end - t.Spent)
		}
	}
}

// hold stops the clock of the torrent; why is the reason.
func (t *simTorrent) hold(why string, now time.Time) {
	t.Spent, t.Since, t.Hold = t.elapsed(now), time.Time{}, why
}

// release lets the clock run again.
func (t *simTorrent) release(now time.Time) {
	if t.Hold != "" {
		t.Since, t.Hold = now, ""
	}
}

// state is what the Web API calls the state.
func (t *simTorrent) state(now time.Time, modern bool) string {
	p, _ := t.at(now)
	switch {
	case t.Hold == holdPaused:
		name := "paused"
		if modern {
			name = "stopped"
		}
		if p >= inMove {
			return name + "UP"
		}
		return name + "DL"
	case t.Hold != "":
		return t.Hold
	case p <= inMeta:
		return "metaDL"
	case p == inCheck:
		return "checkingResumeData"
	case p == inDownload && (t.Plan.Duration < 0 || t.Lacks && len(t.From) == 0):
		return holdStalled
	case p == inDownload:
		return "downloading"
	case p == inMove:
		return "moving"
	}

	return "stalledUP"
}

// contentPath is relative while resume data is checked, and still the old one while the content is moved.
func (t *simTorrent) contentPath(state string, now time.Time) string {
	p, _ := t.at(now)
	switch {
	case p <= inMeta:
		return ""
	case state == "checkingResumeData":
		return t.Name
	case state == "moving", t.Plan.Moving != 0 && p <= inMove:
		return path.Join(t.SavePath, "incomplete", t.Name)
	}
	return path.Join(t.SavePath, t.Name)
}

// errNoDuration means that a torrent without a duration has no progress between 0 and 1.
var errNoDuration = errors.New("a progress between 0 and 1 needs a duration or a speed")

// setProgress sets the clock of the torrent to the moment when this share of its bytes is complete.
func (t *simTorrent) setProgress(share float64, now time.Time) error {
	if share < 0 || share > 1 {
		return errors.New("progress must be from 0 to 1")
	}

	switch {
	case share < 1 && (t.Plan.Duration == 0 || t.Plan.Duration < 0 && share > 0):
		return errNoDuration
	case share == 1:
		t.Plan.Duration, t.Lacks = max(t.Plan.Duration, 0), false
	}

	for _, before := range []*time.Duration{&t.Plan.Hidden, &t.Plan.Meta, &t.Plan.Check} {
		*before = max(*before, 0) // a part that was Never is over
	}

	start, _ := t.before(inDownload)
	t.Spent = start
	if t.Plan.Duration > 0 {
		t.Spent += time.Duration(share * float64(t.Plan.Duration))
	}

	if !t.Since.IsZero() {
		t.Since = now
	}

	if share < 1 {
		t.CompletedOn = time.Time{}
	}
	return nil
}

// recheck checks the files again: missing ones are downloaded once more.
func (t *simTorrent) recheck(now time.Time) {
	if t.Gone || t.Hold == holdMissing {
		_ = t.setProgress(0, now) // without a duration all is complete again at once
	}
	if t.Hold == holdMissing {
		t.release(now)
	}
	t.Gone, t.Recheck = false, time.Time{}
}

package tonsim

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// fragmentState is everything that the simulator remembers. Only applied fragmentEntries change it.
type fragmentState struct {
	hash      string            // of the page
	users     map[string]string // kind by username
	settings  FragmentSettings
	requests  []*starsRequest   // in order of arrival
	seenLT    map[string]uint64 // logical time up to which payments were read, by the address that is paid
	unmatched []Payment         // payments that match no request
}

// starsRequest is a purchase that a session has started.
type starsRequest struct {
	ID         string     `json:"id"`
	Username   string     `json:"username"`
	Stars      int64      `json:"stars"`
	AmountNano int64      `json:"amount_nano"`
	Link       *starsLink `json:"link,omitempty"`
	Confirmed  bool       `json:"confirmed,omitempty"`
	Refused    bool       `json:"refused,omitempty"` // its payment was not accepted, because of a later request
	Paid       *Payment   `json:"paid,omitempty"`
}

// starsLink is the payment that a request waits for. Another call creates a new link and voids the old one.
type starsLink struct {
	To         string    `json:"to"` // raw
	AmountNano int64     `json:"amount_nano"`
	Payload    boc       `json:"payload"`
	ValidUntil time.Time `json:"valid_until"`
}

// Payment is money that arrived.
type Payment struct {
	Hash     string    `json:"payment_hash"` // of the transaction that sent it, in hex
	Message  string    `json:"message_hash"` // that carried it, in hex
	PaidNano int64     `json:"paid_nano"`
	At       time.Time `json:"at"`
	Why      string    `json:"why,omitempty"` // why it matches no request
}

// Purchase is a request that was paid.
type Purchase struct {
	Username string `json:"username"`
	Stars    int64  `json:"stars"`
	Payment
}

// fragmentUser says what a username stands for.
type fragmentUser struct {
	Username string `json:"username"`
	Kind     string `json:"kind"`
}

// fragmentEntry is one line of the journal.
type fragmentEntry struct {
	Hash      string            `json:"hash,omitempty"`
	User      *fragmentUser     `json:"user,omitempty"`
	Settings  *FragmentSettings `json:"settings,omitempty"`
	Request   *starsRequest     `json:"request,omitempty"` // a new one, or a replacement for the one with its id
	SeenAt    string            `json:"seen_at,omitempty"` // the address
	SeenLT    uint64            `json:"seen_lt,omitempty"`
	Unmatched *Payment          `json:"stray,omitempty"`
}

func newFragmentState(s FragmentSettings) fragmentState {
	for into, otherwise := range map[*int64]int64{
		&s.NanoPerStar: fragmentDefaults.NanoPerStar, &s.InitPercent: fragmentDefaults.InitPercent,
		&s.LinkPercent: fragmentDefaults.LinkPercent, &s.LinkSeconds: fragmentDefaults.LinkSeconds,
	} {
		if *into == 0 {
			*into = otherwise
		}
	}
	return fragmentState{users: map[string]string{}, seenLT: map[string]uint64{}, settings: s}
}

func (s *fragmentState) apply(e fragmentEntry) error {
	if e.Hash != "" {
		s.hash = e.Hash
	}

	if e.User != nil {
		s.users[e.User.Username] = e.User.Kind
	}

	if e.Settings != nil {
		s.settings = *e.Settings
	}

	if e.Request != nil {
		if old := s.request(e.Request.ID); old != nil {
			*old = *e.Request
		} else {
			s.requests = append(s.requests, e.Request)
		}
	}

	if e.SeenLT != 0 {
		s.seenLT[e.SeenAt] = e.SeenLT
	}

	if e.Unmatched != nil {
		s.unmatched = append(s.unmatched, *e.Unmatched)
	}
	return nil
}

// superseded reports whether a request is not served, because the session has made a later one.
func (s *fragmentState) superseded(r *starsRequest) bool {
	return r.Refused || s.settings.OnlyLast && r.ID != s.requests[len(s.requests)-1].ID && r.Paid == nil && !r.Confirmed
}

// request returns a request, or nil.
func (s *fragmentState) request(id string) *starsRequest {
	for _, r := range s.requests {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// commit keeps an entry and applies it; f.mu must be held unless f is not shared yet.
func (f *Fragment) commit(e fragmentEntry) error {
	if err := f.journal.Add(e); err != nil {
		return err
	}
	return f.state.apply(e)
}

func newPageHash() string {
	b := make([]byte, 9)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

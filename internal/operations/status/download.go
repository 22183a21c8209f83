package status

import "context"

// QBittorrent is the outcome of polling qBittorrent.
type QBittorrent struct {
	Answers   bool     // it answered the last poll, and that poll is recent
	AnswerAge *float64 // seconds since its last answer; nil: none
	Error     string   // a fault code, while it does not answer
}

// qbittorrent fills in whether qBittorrent answers.
func (r *Reporter) qbittorrent(ctx context.Context, s *Status) error {
	if r.o.PollGap == 0 {
		return nil
	}
	polls, err := r.o.Store.Downloads.Polls(ctx)
	s.QBittorrent = &QBittorrent{
		Answers:   polls.Failure == "" && polls.PolledAge != nil && *polls.PolledAge < r.o.PollGap.Seconds(),
		AnswerAge: polls.PolledAge, Error: polls.Failure,
	}
	return err
}

package store_test

import "testing"

// TestStreamLeases follows two processes of which one user has streams.
func TestStreamLeases(t *testing.T) {
	t.Parallel()
	const user, maximum = 7, 3
	w := newRig(t)
	lease := func(process string, streams int) bool {
		t.Helper()
		granted, err := w.LeaseStreams(t.Context(), process, user, streams, maximum)
		w.must(err)
		return granted
	}

	if !lease("a", 1) || !lease("a", 2) || !lease("b", 1) || lease("b", 2) || lease("a", 3) {
		t.Error("both together do not keep to three")
	}
	if granted, err := w.LeaseStreams(t.Context(), "b", user+1, maximum, maximum); err != nil || !granted {
		t.Error("another user is refused")
	}

	w.must(w.RenewStreams(t.Context(), "a", []int64{user, user + 2}, []int{1, 5}))
	if !lease("b", 2) || lease("b", 3) {
		t.Error("what a process has no more makes no room")
	}

	w.exec(`UPDATE stream_leases SET expires_at = now() - interval '1 second' WHERE process = 'b'`)
	if !lease("a", maximum) {
		t.Error("what has lapsed is counted")
	}

	w.must(w.RenewStreams(t.Context(), "a", []int64{}, []int{}))
	if n := w.count("stream_leases"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

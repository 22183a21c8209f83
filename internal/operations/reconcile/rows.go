package reconcile

import (
	"context"
	"hash/maphash"
	"slices"
	"time"

	"stagecoach/internal/service"
)

// eachPageOf calls do for the rows returned by list, created at least age ago, a page at a time.
func eachPageOf(
	ctx context.Context, list func(ctx context.Context, age time.Duration, after int64, limit int) ([]service.LiveRow, error),
	age time.Duration, do func([]service.LiveRow) error,
) error {
	for after := int64(0); ; {
		page, err := list(ctx, age, after, pageLimit)
		if err != nil || len(page) == 0 {
			return err
		}
		if err := do(page); err != nil {
			return err
		}
		after = page[len(page)-1].About().ID
	}
}

// liveRows remembers many live rows in eight bytes each: 56 bits of a hash of the workflow's id, seven bits for the
// state, and one bit for whether the workflow was seen. The hash is seeded, so that two rows that collide in one
// comparison differ in the next.
type liveRows struct {
	seed   maphash.Seed
	states []string
	prints []uint64 // ascending, after sort
}

const (
	metBit    = 1
	stateBits = 0xfe
	hashBits  = ^uint64(0xff)
)

func newLiveRows() liveRows { return liveRows{seed: maphash.MakeSeed()} }

func (l *liveRows) add(about service.Row) {
	l.prints = append(l.prints, l.hash(about.WorkflowID)|l.number(about.State)<<1)
}

func (l *liveRows) hash(id string) uint64 { return maphash.String(l.seed, id) & hashBits }

// number numbers the states. No workload has more than fit in seven bits.
func (l *liveRows) number(state string) uint64 {
	at := slices.Index(l.states, state)
	if at < 0 {
		at = len(l.states)
		l.states = append(l.states, state)
	}
	return uint64(at)
}

func (l *liveRows) sort() { slices.Sort(l.prints) }

// find returns the index of a workflow's row.
func (l *liveRows) find(id string) (at int, known bool) {
	hash := l.hash(id)
	at, _ = slices.BinarySearch(l.prints, hash)
	return at, at < len(l.prints) && l.prints[at]&hashBits == hash
}

// meet records that a workflow is running. It reports whether there is a live row for it, and whether in this state.
func (l *liveRows) meet(id, state string) (known, same bool) {
	at, known := l.find(id)
	if !known {
		return false, false
	}
	l.prints[at] |= metBit
	return true, l.states[l.prints[at]&stateBits>>1] == state
}

// lost returns the rows whose workflow was not seen. Rows added later are not among them.
func (l *liveRows) lost(rows []service.LiveRow) (lost []service.LiveRow) {
	for _, row := range rows {
		at, known := l.find(row.About().WorkflowID)
		if known && l.prints[at]&metBit == 0 {
			lost = append(lost, row)
		}
	}
	return lost
}

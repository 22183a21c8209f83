package feed

import (
	"context"
	"time"

	"stagecoach/internal/store/account"
	"stagecoach/internal/store/notice"
)

const (
	renewEvery = notice.StreamLease / 3
	flushEvery = time.Second     // how soon other processes see that a stream has ended
	renewTime  = 5 * time.Second // that PostgreSQL may take
)

// lease asks for one more stream of a limited user, with streams in this process then. The quota is for all processes
// together.
func (f *Feed) lease(ctx context.Context, user account.User, streams int) error {
	if f.o.PerUser == 0 || user.IsAdmin() {
		return nil
	}

	// A renewal writes numbers that it has read before: a lease that is granted meanwhile would be lost.
	f.leasing.RLock()
	defer f.leasing.RUnlock()

	granted, err := f.o.Store.LeaseStreams(ctx, f.process, user.ID, streams, f.o.PerUser)
	if err == nil && !granted {
		err = f.tooMany()
	}
	return err
}

// keepLeases writes to the record how many streams each user has in this process: soon after some have ended, and
// periodically until ctx ends. Then it returns all leases. They lapse when PostgreSQL cannot be reached for long; no
// follower is dismissed because of that.
func (f *Feed) keepLeases(ctx context.Context) {
	if f.o.PerUser == 0 {
		return
	}
	defer func() { _ = f.renew(context.WithoutCancel(ctx), true) }() // else they lapse

	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()

	for renewed := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}

		if !f.ended.Swap(false) && time.Since(renewed) < renewEvery {
			continue
		}
		if err := f.renew(ctx, false); err != nil {
			f.ended.Store(true) // once more, in a second
			continue
		}

		renewed = time.Now()
	}
}

// renew writes all streams of users to the record in one statement, or none when over.
func (f *Feed) renew(ctx context.Context, over bool) error {
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	f.leasing.Lock()
	defer f.leasing.Unlock()

	users, streams := []int64{}, []int{}
	if !over {
		users, streams = f.leased()
	}
	return f.o.Store.RenewStreams(ctx, f.process, users, streams)
}

// leased gives the users who are limited, and how many streams each has.
func (f *Feed) leased() (users []int64, streams []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	users, streams = make([]int64, 0, len(f.users)), make([]int, 0, len(f.users))
	for id, of := range f.users {
		if !of.admin {
			users, streams = append(users, id), append(streams, of.followers)
		}
	}
	return users, streams
}

package allowance_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

var (
	anna = account.User{ID: 1, Role: account.RoleUser, Status: account.UserActive}
	bob  = account.User{ID: 2, Role: account.RoleUser, Status: account.UserBlocked}
	boss = account.User{ID: 3, Role: account.RoleAdmin, Status: account.UserActive}
)

// TestUsersHaveAnAllowance floods with one user's requests: the burst passes, then what is replenished over time, and
// no more.
func TestUsersHaveAnAllowance(t *testing.T) {
	t.Parallel()
	const perSecond, burst = 20, 5 * 20
	users := allowance.NewUsers(perSecond)
	began := time.Now()

	var granted atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 100 {
				err := users.Take(anna)
				refusal := fault.As(err)
				switch {
				case err == nil:
					granted.Add(1)
				case refusal == nil || refusal.Code != fault.RateLimited || refusal.RetryAfter <= 0:
					t.Errorf("refused with %v", err)
				}
			}
		})
	}

	all.Wait()
	most := int64(burst + perSecond*time.Since(began).Seconds() + 1)
	if n := granted.Load(); n < burst || n > most {
		t.Errorf("%d requests of 1600 got through, want %d to %d", n, burst, most)
	}

	for _, other := range []account.User{bob, boss} {
		if err := users.Take(other); err != nil {
			t.Errorf("user %d pays for another one: %v", other.ID, err)
		}
	}
}

// TestARefusedUserMayTryWhenTold waits as long as a refusal says.
func TestARefusedUserMayTryWhenTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // no time passes but in Sleep
		users := allowance.NewUsers(4)
		for range 100 {
			_ = users.TakeBy(anna, "token")
		}

		refusal := fault.As(users.Check("token"))
		if refusal == nil || refusal.Code != fault.RateLimited || refusal.RetryAfter > time.Second/4 {
			t.Fatalf("the token of a refused user: %v", refusal)
		}

		time.Sleep(time.Second / 4)
		if err := users.Check("token"); err != nil {
			t.Errorf("the token afterwards: %v", err)
		}
		if err := users.TakeBy(anna, "token"); err != nil {
			t.Errorf("after the pause that was told: %v", err)
		}
	})
}

// TestAgentsUseTheirOwnersAllowance admits an owner and two agents as often as the owner alone.
func TestAgentsUseTheirOwnersAllowance(t *testing.T) {
	t.Parallel()
	const perSecond, burst = 4, 5 * 4
	users := allowance.NewUsers(perSecond)
	owner := anna.ID
	family := []account.User{
		anna,
		{ID: 11, Role: account.RoleUser, Status: account.UserActive, OwnerID: &owner},
		{ID: 12, Role: account.RoleUser, Status: account.UserActive, OwnerID: &owner},
	}

	began, granted := time.Now(), 0
	for i := range 200 {
		if users.Take(family[i%len(family)]) == nil {
			granted++
		}
	}

	most := int(burst + perSecond*time.Since(began).Seconds() + 1)
	if granted < burst || granted > most {
		t.Errorf("%d requests got through, want %d to %d", granted, burst, most)
	}
}

// TestOneRequestMayBeWorthMany takes a whole burst at once, and refuses what comes after it.
func TestOneRequestMayBeWorthMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // no time passes but in Sleep
		users := allowance.NewUsers(2)
		if err := users.TakeMany(anna, 1000); err != nil { // more than any burst: possible after a pause
			t.Fatal(err)
		}
		if err := users.Take(anna); fault.CodeOf(err) != fault.RateLimited {
			t.Errorf("after all was taken: %v", err)
		}
	})
}

// TestAdministratorsAndNoLimit admits everything.
func TestAdministratorsAndNoLimit(t *testing.T) {
	t.Parallel()
	limited, unlimited := allowance.NewUsers(1), allowance.NewUsers(0)
	for range 1000 {
		if err := limited.Take(boss); err != nil {
			t.Fatal(err)
		}
		if err := unlimited.Take(anna); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRatesForgetIdleUsers counts more keys than are remembered: the memory stays bounded, and a key that has used
// up its allowance stays refused while others are idle.
func TestRatesForgetIdleUsers(t *testing.T) {
	t.Parallel()
	var rates allowance.Rates[int]
	seldom, often := allowance.Rate{PerSecond: 0.001, Burst: 1}, allowance.Rate{PerSecond: 1e9, Burst: 1}
	if wait := rates.Take(-1, seldom); wait != 0 {
		t.Fatalf("the first one waits %s", wait)
	}

	for key := range 50_000 {
		rates.Take(key, often)
	}

	if wait := rates.Take(-1, seldom); wait < time.Minute {
		t.Errorf("after many others it waits %s", wait)
	}
	if n := rates.Remembered(); n > 20_000 {
		t.Errorf("%d keys are remembered", n)
	}
}

// TestWrongTokensAreBounded counts an address's wrong tokens, and only those.
func TestWrongTokensAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // no time passes but in Sleep
		const perSecond, flooder, neighbour = 1, "192.0.2.1:1000", "192.0.2.2:1000"
		guesses := allowance.NewGuesses(perSecond)
		guesses.Right("known")
		refusedAfter := 0

		for ; refusedAfter < 1000; refusedAfter++ {
			token := fmt.Sprint(refusedAfter)
			if err := guesses.Check(flooder, token); err != nil {
				if refusal := fault.As(err); refusal.Code != fault.RateLimited || refusal.RetryAfter <= 0 {
					t.Errorf("refused with %v", err)
				}
				break
			}
			guesses.Wrong(flooder, token)
		}

		if refusedAfter < 5 || refusedAfter > 100 {
			t.Errorf("refused after %d wrong tokens, want some more than 5", refusedAfter)
		}

		if guesses.Check("192.0.2.1:2000", "unknown") == nil {
			t.Error("another port is another allowance")
		}
		if err := guesses.Check(neighbour, "unknown"); err != nil {
			t.Errorf("a neighbour: %v", err)
		}
		if err := guesses.Check(flooder, "known"); err != nil {
			t.Errorf("a token that was right: %v", err)
		}

		guesses.Wrong(flooder, "known") // it was revoked
		if guesses.Check(flooder, "known") == nil {
			t.Error("a revoked token passes for ever")
		}
	})
}

// TestGuessesComeFromNetworks checks which addresses count as one.
func TestGuessesComeFromNetworks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // no time passes but in Sleep
		for _, c := range []struct {
			one, other string
			same       bool
		}{
			{"192.0.2.1:1", "192.0.2.1:2", true},
			{"192.0.2.1:1", "192.0.2.2:1", false},
			{"192.0.2.1:1", "[::ffff:192.0.2.1]:2", true},
			{"[2001:db8::1]:1", "[2001:db8::2]:1", true},
			{"[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false},
			{"[fe80::1%eth0]:1", "[fe80::2%eth1]:1", true},
			{"@", "pipe", true},
		} {
			guesses := allowance.NewGuesses(1)
			for range 100 {
				guesses.Wrong(c.one, "x")
			}
			if refused := guesses.Check(c.other, "y") != nil; refused != c.same {
				t.Errorf("%s and %s: one allowance is %t, want %t", c.one, c.other, refused, c.same)
			}
		}
	})
}

package store_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// TestAudienceSeesWhatTheListsShow makes random workspaces with random members and tasks, and compares, for each user
// and task, the SQL condition with the audience of the task's events.
func TestAudienceSeesWhatTheListsShow(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := newRig(t)
	users, tasks := w.randomOffice(rand.New(rand.NewPCG(seed, 0)))
	ids := make([]int64, len(users))
	for i, user := range users {
		ids[i] = user.ID
	}

	events := w.after(core.Cursor{})
	if len(events) != tasks {
		t.Fatalf("%d events, want %d", len(events), tasks)
	}

	audience, err := w.Notices.AudienceOf(t.Context(), events, ids)
	w.must(err)
	seen := 0
	for _, user := range users {
		viewer := user.ID
		if user.IsAdmin() {
			viewer = 0
		}

		for _, event := range events {
			id, err := strconv.ParseInt(event.EntityID, 10, 64)
			w.must(err)
			_, err = w.Tasks.ByID(t.Context(), viewer, id)
			if err != nil && fault.CodeOf(err) != fault.TaskNotFound {
				t.Fatal(err)
			}

			shown, sees := err == nil, audience.Sees(user, event)
			if shown != sees {
				t.Errorf("user %d (%s, %s): shown is %t, sees is %t of task %d", user.ID, user.Role, user.Status, shown, sees, id)
			}

			if sees {
				seen++
			}
		}
	}

	if seen == 0 || seen == len(users)*tasks {
		t.Errorf("%d of %d pairs see each other: nothing is compared", seen, len(users)*tasks)
	}
}

// randomOffice makes users, workspaces, members and tasks, each with one event.
func (w *rig) randomOffice(random *rand.Rand) (users []account.User, tasks int) {
	w.t.Helper()
	const people, spaces = 8, 5
	tasks = 60
	pick := func(of ...string) string { return of[random.IntN(len(of))] }

	for range people {
		user, err := w.Accounts.CreateUser(w.t.Context(), account.User{
			Role:   pick(account.RoleUser, account.RoleUser, account.RoleUser, account.RoleAdmin),
			Status: pick(account.UserActive, account.UserActive, account.UserBlocked),
		}, account.NewToken())
		w.must(err)
		users = append(users, user)
	}

	anybody := func() string { return strconv.FormatInt(users[random.IntN(people)].ID, 10) }
	space := func() int { return 1 + random.IntN(spaces) }

	for range spaces {
		execIn(
			w.t, w.url,
			fmt.Sprintf(`INSERT INTO workspaces (name, owner_id, status_deadlines) VALUES ('w', %s, '{}')`, anybody()),
		)
	}

	for range 3 * spaces {
		execIn(w.t, w.url, fmt.Sprintf(`INSERT INTO workspace_members (workspace_id, user_id) VALUES (%d, %s)
			ON CONFLICT DO NOTHING`, space(), anybody()))
	}

	for range tasks {
		execIn(w.t, w.url, fmt.Sprintf(`WITH made AS (INSERT INTO tasks (workspace_id, title, creator_id, assignee_id, visibility)
				VALUES (%d, 'a title', %s, %s, '%s') RETURNING id, creator_id)
			INSERT INTO events (workload, entity_id, seq, owner_id, type, to_state) SELECT 'task', id::text, 1, creator_id, 'created', 'NEW' FROM made`,
			space(), anybody(), pick(anybody(), "NULL"), pick(task.Public, task.Private)))
	}
	return users, tasks
}

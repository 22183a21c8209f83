package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"stagecoach/dev/night"
)

const nextAgents = 500 // and as many tasks

// TestNightTaskRaceNext has 500 agents ask for the next task at once, at two APIs, while workers and APIs are killed.
// There are 500 tasks: half of them at the start, the others arrive while agents wait. Each agent repeats its request
// with its key until it has a task. Each gets its own, and the record has no other claim.
func TestNightTaskRaceNext(t *testing.T) {
	t.Parallel()
	night.Only(t)
	r := newTaskRace(t, programs+"/worker")
	r.startServices()
	owner := r.member("Owner")
	for i := range nextAgents {
		r.agents = append(r.agents, r.member(fmt.Sprintf("Agent %d", i)))
	}

	space := owner.workspace(map[string]any{}, r.agents...)
	n := &nextRace{taskRace: r, histories: map[string][]porcupine.Operation{}}
	n.add(owner, space, nextAgents/2)
	over := make(chan struct{})
	var agents, nemesis sync.WaitGroup
	nemesis.Go(func() { r.disturb(over) })
	for i, agent := range r.agents {
		agents.Go(func() { n.next(i, agent) })
	}

	for added := nextAgents / 2; added < nextAgents; added += 25 {
		n.add(owner, space, 25)
		time.Sleep(3 * time.Second)
	}

	agents.Wait()
	close(over)
	nemesis.Wait()
	n.judge(owner)

	for _, complaint := range r.complaints[:min(len(r.complaints), 10)] {
		t.Error(complaint)
	}
	if r.faults.Load() < 4 { // each server
		t.Errorf("only %d servers were killed", r.faults.Load())
	}
	t.Logf("%d tasks, %d requests, %d of them without an answer, in %s; tasks won in each fault's time: %v",
		len(n.tasks), r.asked.Load(), r.unanswered.Load(), time.Since(r.started).Round(time.Second), r.windows)
}

// nextRace is a race for whatever tasks there are.
type nextRace struct {
	*taskRace
	tasks []string // as they were created

	mu        sync.Mutex
	histories map[string][]porcupine.Operation // of each task that was given to an agent
}

// add creates tasks concurrently.
func (n *nextRace) add(owner member, space string, howMany int) {
	graph := make([]map[string]any, howMany)
	for i := range graph {
		graph[i] = map[string]any{"title": "Whatever is next"}
	}

	key := fmt.Sprintf("batch-%d", len(n.tasks))
	made := n.insist(0, func(base string) (answer, error) {
		return n.ask(owner, base, "/v1/tasks/batch", key, map[string]any{"workspace_id": space, "tasks": graph})
	})
	if made.status != http.StatusCreated {
		n.Errorf("tasks are answered %d %v", made.status, made.body)
		return
	}
	for _, item := range made.body["items"].([]any) {
		n.tasks = append(n.tasks, item.(map[string]any)["id"].(string))
	}
}

// next has an agent ask until it has a task. What it was told, and its earlier requests without an answer, are the
// history of that task.
func (n *nextRace) next(i int, agent member) {
	var history []porcupine.Operation
	body := map[string]any{"comment": "I take it", "wait_seconds": 20}
	for try := 0; ; try++ {
		var asked int64
		got := n.insist(i+try, func(base string) (answer, error) {
			asked = n.clock()
			got, err := n.ask(agent, base, "/v1/tasks/claim", "turn-"+agent.id, body)
			if err != nil || got.status >= 500 {
				lost := porcupine.Operation{Input: raceCall{agent.id}, Call: asked, Output: raceTold{unknown: true}, Return: neverReturns}
				history = append(history, lost)
			}
			return got, err
		})
		if got.status != http.StatusOK || n.Failed() {
			n.complain("agent %s is answered %d %v", agent.id, got.status, got.body)
			return
		}

		task, found := got.body["task"].(map[string]any)
		if !found { // none became ready in time
			continue
		}
		won := porcupine.Operation{Input: raceCall{agent.id}, Call: asked, Output: raceTold{holder: agent.id}, Return: n.clock()}
		n.won(task["id"].(string), append(history, won))
		return
	}
}

func (n *nextRace) won(id string, history []porcupine.Operation) {
	n.mu.Lock()
	n.histories[id] = append(n.histories[id], history...)
	n.mu.Unlock()

	n.taskRace.mu.Lock()
	n.wins = append(n.wins, history[len(history)-1].Return) // it was requested long ago
	n.taskRace.mu.Unlock()
}

// judge queries the holder of each task, and reports every task with an impossible history.
func (n *nextRace) judge(owner member) {
	for i, id := range n.tasks {
		c := &contest{taskRace: n.taskRace, id: id, history: n.histories[id]}
		asked := c.clock()
		got, err := c.ask(owner, c.urls[i%len(c.urls)], "/v1/tasks/"+id, "", nil)
		if err != nil {
			c.complain("task %s cannot be read: %v", id, err)
			continue
		}

		holder, _ := got.body["assignee_id"].(string)
		c.note(raceCall{}, asked, c.clock(), raceTold{holder: holder})
		if v := judge(c.history); v.order != porcupine.Ok || len(v.winners) != 1 || v.winners[0] != holder {
			c.complain("task %s: held by %q, won by %v, porcupine says %s\n%s", id, holder, v.winners, v.order, describe(c.history))
			continue
		}
		c.recorded(holder)
	}
}

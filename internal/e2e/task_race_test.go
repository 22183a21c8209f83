package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/internal/dev"
)

const (
	raceAgents = 20 // on each task
	raceLanes  = 4  // tasks that are fought for at a time
	raceTime   = 45 * time.Second
	raceLeast  = 20               // tasks, for a race that proves something
	raceStall  = 30 * time.Second // the longest that one kill may hold up everything
)

// TestTaskRace lets 20 agents claim each of many tasks at once through HTTP, while workers and APIs are killed: two of
// each run, so that there is always somebody to go on. Each task has exactly one winner, all others are told who it is,
// and there is an order of the claims that explains every answer. STAGECOACH_RACE_TASKS sets the number of tasks; else it
// is as many as fit into the time.
func TestTaskRace(t *testing.T) {
	t.Parallel()
	s := newStack(t, map[string]string{"STAGECOACH_BOT": "false", "STAGECOACH_LOG_LEVEL": "info"})
	r := &taskRace{stack: s, started: time.Now(), most: 1 << 30}
	if text := os.Getenv("STAGECOACH_RACE_TASKS"); text != "" {
		var err error
		r.most, err = strconv.ParseInt(text, 10, 64)
		must(t, err)
		r.exactly = true
	}
	r.startServices()
	owner := s.member("Owner")
	for i := range raceAgents {
		r.agents = append(r.agents, s.member(fmt.Sprintf("Agent %d", i)))
	}
	space := owner.workspace(map[string]any{}, r.agents...)

	over := make(chan struct{})
	var lanes, nemesis sync.WaitGroup
	for lane := range raceLanes {
		lanes.Go(func() { r.lane(lane, owner, space) })
	}
	nemesis.Go(func() { r.disturb(over) })
	lanes.Wait()
	close(over)
	nemesis.Wait()

	if n := r.taken.Load(); n < raceLeast && !r.exactly {
		t.Errorf("only %d tasks were fought for", n)
	}
	if len(r.windows) == 0 {
		t.Error("nothing was killed during the race")
	}
	t.Logf("%d tasks, %d requests, %d of them without an answer, in %s; successes in each fault's time: %v",
		r.taken.Load(), r.asked.Load(), r.unanswered.Load(), time.Since(r.started).Round(time.Second), r.windows)
}

// taskRace is a race for tasks, and what is known of it.
type taskRace struct {
	*stack
	started time.Time
	most    int64 // tasks
	exactly bool  // most of them, however long it takes
	agents  []member
	urls    []string // of the APIs
	servers []*server

	begun, taken, asked, unanswered atomic.Int64
	wins                            atomic.Int64
	windows                         []int64 // successes while each fault lasted
}

// startServices runs two workers and two APIs.
func (r *taskRace) startServices() {
	r.startAPI() // waits until it is ready
	r.servers = []*server{{name: "worker"}, {name: "api", addr: r.env["STAGECOACH_API_ADDR"]}, {name: "worker"}, {name: "api"}}
	port, err := dev.FreePort()
	must(r, err)
	r.servers[3].addr = fmt.Sprintf("127.0.0.1:%d", port)
	r.servers[1].program = r.api
	for _, one := range r.servers {
		if one.addr != "" {
			r.urls = append(r.urls, "http://"+one.addr)
		}
		if one.program == nil {
			r.launch(one)
		}
	}
}

// server is a process that is killed and started again.
type server struct {
	*program
	name, addr string
}

func (r *taskRace) launch(one *server) {
	if one.addr != "" {
		r.env["STAGECOACH_API_ADDR"] = one.addr
	}
	one.program = r.start(one.name)
}

// disturb kills one server after the other, as a crash would. Each stays away until somebody has won a task without it.
func (r *taskRace) disturb(over <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-over:
			return
		case <-time.After(2 * time.Second):
		}
		victim, before := r.servers[i%len(r.servers)], r.wins.Load()
		victim.kill()
		killed := time.Now()
		for time.Since(killed) < time.Second || r.wins.Load() == before && time.Since(killed) < raceStall {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		wins := r.wins.Load() - before
		if wins == 0 {
			r.Errorf("nobody won a task within %s after the kill of one of two servers (%s)", raceStall, victim.name)
		}
		r.windows = append(r.windows, wins)
		r.launch(victim)
	}
}

// lane makes task after task and lets all agents loose on each.
func (r *taskRace) lane(lane int, owner member, space string) {
	for n := 0; r.exactly || time.Since(r.started) < raceTime; n++ {
		if r.begun.Add(1) > r.most {
			return
		}
		key := fmt.Sprintf("task-%d-%d", lane, n)
		made := r.insist(owner, "/v1/tasks", key, map[string]any{"workspace_id": space, "title": "Fight for " + key})
		if made.status != http.StatusCreated {
			r.Errorf("a task is answered %d %v", made.status, made.body)
			return
		}
		r.fight(made.body["id"].(string))
		r.taken.Add(1)
	}
}

// claimed is how one agent fared.
type claimed struct {
	agent          member
	asked, learned time.Time
	answer
}

// fight lets all agents claim a task at once and checks what they are told.
func (r *taskRace) fight(id string) {
	results := make([]claimed, len(r.agents))
	var all sync.WaitGroup
	for i, agent := range r.agents {
		all.Go(func() {
			asked := time.Now()
			got := r.insist(agent, "/v1/tasks/"+id+"/claim", "claim-"+id, map[string]any{"comment": "I take it"})
			results[i] = claimed{agent, asked, time.Now(), got}
			if got.status == http.StatusOK {
				r.wins.Add(1)
			}
		})
	}
	all.Wait()
	winner := slices.IndexFunc(results, func(c claimed) bool { return c.status == http.StatusOK })
	if winner < 0 {
		r.Errorf("task %s: nobody won: %v", id, results[0].answer)
		return
	}
	for i, c := range results {
		details, _ := c.body["details"].(map[string]any)
		switch {
		case i == winner:
		case c.status == http.StatusOK:
			r.Errorf("task %s: won by agent %s and by agent %s", id, results[winner].agent.id, c.agent.id)
		case c.body["code"] != "TASK_ALREADY_CLAIMED" || details["holder"] != results[winner].agent.id:
			r.Errorf("task %s: won by agent %s, agent %s is told %d %v", id, results[winner].agent.id, c.agent.id, c.status, c.body)
		case c.learned.Before(results[winner].asked):
			// A claim that is won once and never given back is linearizable just when nobody loses before the winner asks.
			r.Errorf("task %s: agent %s lost before the winner had asked", id, c.agent.id)
		}
	}
	r.recorded(id, results[winner].agent)
}

// recorded checks that the record knows the same winner.
func (r *taskRace) recorded(id string, winner member) {
	task := r.insist(winner, "/v1/tasks/"+id, "", nil).body
	if task["status"] != "IN_PROGRESS" || task["assignee_id"] != winner.id {
		r.Errorf("task %s: won by agent %s, the record has %v", id, winner.id, task)
	}
	events, _ := r.insist(winner, "/v1/tasks/"+id+"/events", "", nil).body["items"].([]any)
	var claims []any
	for _, item := range events {
		if event := item.(map[string]any); event["type"] == "claimed" {
			claims = append(claims, event["actor_id"])
		}
	}
	if len(events) != 2 || len(claims) != 1 || claims[0] != winner.id {
		r.Errorf("task %s: won by agent %s, its events are %v", id, winner.id, events)
	}
}

var raceClient = http.Client{Timeout: 40 * time.Second}

// insist asks, with the same key, of one API and then the other, until there is an answer that tells the outcome. Without
// a body it reads.
func (r *taskRace) insist(m member, path, key string, body any) answer {
	for try := range 200 {
		if try > 0 {
			r.unanswered.Add(1)
			time.Sleep(100 * time.Millisecond)
		}
		r.asked.Add(1)
		got, err := r.ask(m, r.urls[try%len(r.urls)], path, key, body)
		if err == nil && got.status < 500 {
			return got
		}
	}
	r.Errorf("%s is never answered", path)
	return answer{}
}

func (r *taskRace) ask(m member, base, path, key string, body any) (got answer, err error) {
	method, text := http.MethodGet, []byte(nil)
	if body != nil {
		method = http.MethodPost
		if text, err = json.Marshal(body); err != nil {
			return got, err
		}
	}
	request, err := http.NewRequestWithContext(r.Context(), method, base+path, bytes.NewReader(text))
	if err != nil {
		return got, err
	}
	request.Header.Set("Authorization", "Bearer "+m.token)
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := raceClient.Do(request)
	if err != nil {
		return got, err
	}
	defer response.Body.Close()
	got.status = response.StatusCode
	return got, json.NewDecoder(response.Body).Decode(&got.body)
}

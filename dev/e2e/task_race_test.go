package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"stagecoach/dev/night"
	"stagecoach/dev/servers"
	"stagecoach/dev/wait"
)

const (
	raceAgents = 20 // on each task
	raceLanes  = 4  // tasks that are claimed at a time
	raceTime   = 30 * time.Second
	raceTasks  = 20 // at least, for a significant result
)

// TestNightTaskRace makes 20 agents claim each of many tasks concurrently through HTTP, while workers and APIs are
// killed; two of each run, so that one is always available. Each task has exactly one winner, all others get its name,
// and there is an order of the calls that explains every answer. STAGECOACH_RACE_TASKS sets the number of tasks;
// without it there are as many as fit into the time.
func TestNightTaskRace(t *testing.T) {
	t.Parallel()
	night.Only(t)
	least, lasts := int64(raceTasks), raceTime
	if text := os.Getenv("STAGECOACH_RACE_TASKS"); text != "" {
		var err error
		least, err = strconv.ParseInt(text, 10, 64)
		must(t, err)
		lasts = 0
	}

	r := newTaskRace(t, filepath.Join(programs, "worker"))
	r.run(func(begun int64) bool { // a worker and an API must have been killed
		return begun > least && time.Since(r.started) >= lasts && r.faults.Load() >= 2
	})
	for _, complaint := range r.complaints[:min(len(r.complaints), 10)] {
		t.Error(complaint)
	}

	if more := len(r.complaints) - 10; more > 0 {
		t.Errorf("and %d complaints more", more)
	}
	if tasks := r.taken.Load(); int64(len(r.wins)) != tasks {
		t.Errorf("%d tasks have %d winners", tasks, len(r.wins))
	}

	t.Logf("%d tasks, %d requests, %d of them without an answer, in %s; tasks won in each fault's time: %v",
		r.taken.Load(), r.asked.Load(), r.unanswered.Load(), time.Since(r.started).Round(time.Second), r.windows)
}

// TestNightTaskRaceNaiveHandler runs the same race with workers whose handler has no mutex and does not check again.
func TestNightTaskRaceNaiveHandler(t *testing.T) {
	t.Parallel()
	night.Only(t)
	self, err := os.Executable()
	must(t, err)
	r := newTaskRace(t, self)
	r.env[naiveWorker] = "yes"
	r.run(func(begun int64) bool { return r.impossible.Load() > 0 || begun > 100 })

	switch {
	case r.impossible.Load() == 0:
		t.Errorf("%d tasks with %d winners, and nothing seems wrong with their histories", r.taken.Load(), len(r.wins))
	case int64(len(r.wins)) <= r.taken.Load():
		t.Errorf("%d tasks with %d winners, and histories that cannot be", r.taken.Load(), len(r.wins))
	}

	t.Logf("%d tasks, %d winners, %d histories that cannot be, in %s", r.taken.Load(), len(r.wins), r.impossible.Load(),
		time.Since(r.started).Round(time.Second))
}

// taskRace is a race for tasks, and its results.
type taskRace struct {
	*rig
	worker  string // path of the worker's program
	started time.Time
	agents  []member
	urls    []string // of the APIs
	servers []*server

	begun, taken, asked, unanswered atomic.Int64
	faults                          atomic.Int64 // that have ended
	impossible                      atomic.Int64 // tasks with a history that no order of the calls explains
	windows                         []string     // how many tasks were won during each fault

	mu         sync.Mutex // guards the fields below
	wins       []int64    // when each winner sent its claim
	complaints []string
}

// newTaskRace starts everything but the services.
func newTaskRace(t *testing.T, worker string) *taskRace {
	t.Helper()
	s := newRig(t, map[string]string{"STAGECOACH_BOT": "false", "STAGECOACH_LOG_LEVEL": "warn"})
	return &taskRace{rig: s, worker: worker, started: time.Now()}
}

// run starts the services and runs the race. It calls enough before each task with the number of tasks including that
// one.
func (r *taskRace) run(enough func(begun int64) bool) {
	r.Helper()
	r.startServices()
	owner := r.member("Owner")
	for i := range raceAgents {
		r.agents = append(r.agents, r.member(fmt.Sprintf("Agent %d", i)))
	}

	space := owner.workspace(map[string]any{}, r.agents...)
	over := make(chan struct{})
	var lanes, nemesis sync.WaitGroup
	for range raceLanes {
		lanes.Go(func() {
			for n := r.begun.Add(1); !enough(n) && !r.Failed(); n = r.begun.Add(1) {
				r.fight(owner, space, n)
			}
		})
	}

	nemesis.Go(func() { r.disturb(over) })
	lanes.Wait()
	close(over)
	nemesis.Wait()
}

// startServices runs two workers and two APIs.
func (r *taskRace) startServices() {
	r.Helper()
	port, err := servers.FreePort()
	must(r, err)
	r.servers = []*server{
		{name: "worker"},
		{name: "api", addr: r.env["STAGECOACH_API_ADDR"]},
		{name: "worker"},
		{name: "api", addr: fmt.Sprintf("127.0.0.1:%d", port)},
	}

	for _, one := range r.servers {
		r.launch(one)
		if one.addr != "" {
			r.urls = append(r.urls, "http://"+one.addr)
			r.awaitReady("http://" + one.addr)
		}
	}
}

// server is a process that is killed and started again.
type server struct {
	*program
	name, addr string
}

func (r *taskRace) launch(one *server) {
	if one.addr == "" {
		one.program = r.rig.run(r.worker)
		return
	}
	r.env["STAGECOACH_API_ADDR"] = one.addr
	one.program = r.start(one.name)
}

// disturb kills one server after the other. Each starts again only after an agent has claimed and won a task without
// that server.
func (r *taskRace) disturb(over <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-over:
			return
		case <-time.After(2 * time.Second):
		}

		for _, one := range r.servers {
			if one.ended() {
				r.complain("the %s has ended by itself", one.name)
			}
		}

		victim := r.servers[i%len(r.servers)]
		victim.kill()
		killed, since := time.Now(), r.clock()
		for time.Since(killed) < time.Second || r.winsSince(since) == 0 && time.Since(killed) < wait.Patience {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}

		wins := r.winsSince(since)
		if wins == 0 {
			r.complain("nobody won a task within %s after the kill of one of two servers (%s)", wait.Patience, victim.name)
		}

		r.windows = append(r.windows, fmt.Sprintf("%s %d", victim.name, wins))
		r.faults.Add(1)
		r.launch(victim)
	}
}

// clock is the time of the race's histories, in nanoseconds.
func (r *taskRace) clock() int64 { return int64(time.Since(r.started)) }

func (r *taskRace) complain(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complaints = append(r.complaints, fmt.Sprintf(format, args...))
}

// winsSince counts the winners so far whose claims are not older.
func (r *taskRace) winsSince(moment int64) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, asked := range r.wins {
		if asked >= moment {
			n++
		}
	}
	return n
}

// contest is the race for one task.
type contest struct {
	*taskRace
	id string

	mu      sync.Mutex
	history []porcupine.Operation
}

// fight creates a task, has all agents claim it concurrently while its creator queries it, and checks the answers.
func (r *taskRace) fight(owner member, space string, n int64) {
	key := fmt.Sprintf("task-%d", n)
	made := r.insist(0, func(base string) (answer, error) {
		return r.ask(owner, base, "/v1/tasks", key, map[string]any{"workspace_id": space, "title": "Fight for " + key})
	})
	if made.status != http.StatusCreated {
		r.Errorf("a task is answered %d %v", made.status, made.body)
		return
	}

	c := &contest{taskRace: r, id: made.body["id"].(string)}
	results := make([]answer, len(r.agents))
	over := make(chan struct{})
	var agents, watcher sync.WaitGroup
	for i, agent := range r.agents {
		agents.Go(func() { results[i] = c.claim(i, agent) })
	}

	watcher.Go(func() { c.watch(owner, over) })
	agents.Wait()
	close(over)
	watcher.Wait()
	c.judge(results)
	r.taken.Add(1)
}

// claim has an agent claim the task until the outcome is known. Half of the agents repeat the request with the same
// key, half make a new one. They begin at either API.
func (c *contest) claim(i int, agent member) answer {
	key := ""
	if i/2%2 == 0 {
		key = "claim-" + c.id
	}

	won := false
	return c.insist(i, func(base string) (answer, error) {
		asked := c.clock()
		got, err := c.ask(agent, base, "/v1/tasks/"+c.id+"/claim", key, map[string]any{"comment": "I take it"})
		told := raceTold{unknown: err != nil || got.status >= 500}
		switch details, _ := got.body["details"].(map[string]any); {
		case told.unknown:
			c.note(raceCall{agent.id}, asked, neverReturns, told)
			return got, err
		case got.status == http.StatusOK:
			told.holder = agent.id
			if !won {
				won = true
				c.taskRace.mu.Lock()
				c.wins = append(c.wins, asked)
				c.taskRace.mu.Unlock()
			}
		case got.body["code"] == "TASK_ALREADY_CLAIMED":
			told.holder, _ = details["holder"].(string)
		}

		c.note(raceCall{agent.id}, asked, c.clock(), told)
		return got, nil
	})
}

// watch queries the holder of the task, through either API, until the race is over and once more.
func (c *contest) watch(owner member, over <-chan struct{}) {
	for i, last := 0, false; !last; i++ {
		select {
		case <-over:
			last = true
		case <-time.After(20 * time.Millisecond):
		}

		asked := c.clock()
		got, err := c.ask(owner, c.urls[i%len(c.urls)], "/v1/tasks/"+c.id, "", nil)
		if err == nil && got.status == http.StatusOK {
			holder, _ := got.body["assignee_id"].(string)
			c.note(raceCall{}, asked, c.clock(), raceTold{holder: holder})
		}
	}
}

func (c *contest) note(call raceCall, asked, learned int64, told raceTold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = append(c.history, porcupine.Operation{Input: call, Call: asked, Output: told, Return: learned})
}

// judge reports every error of the race. results are the last answers to the agents.
func (c *contest) judge(results []answer) {
	v := judge(c.history)
	if v.order == porcupine.Illegal {
		c.impossible.Add(1)
	}

	if v.order != porcupine.Ok {
		c.complain(
			"task %s: asked for an order of the calls that explains the answers, porcupine says %s\n%s", c.id, v.order,
			describe(c.history),
		)
	}

	if len(v.winners) != 1 {
		c.complain("task %s: won by agents %v", c.id, v.winners)
		return
	}

	winner := v.winners[0]
	for i, got := range results {
		details, _ := got.body["details"].(map[string]any)
		lost := got.status == http.StatusConflict && got.body["code"] == "TASK_ALREADY_CLAIMED" && details["holder"] == winner
		has := got.status == http.StatusOK && got.body["status"] == "IN_PROGRESS" && got.body["assignee_id"] == winner
		if agent := c.agents[i]; agent.id == winner && !has || agent.id != winner && !lost {
			c.complain("task %s: won by agent %s, agent %s is told %d %v", c.id, winner, agent.id, got.status, got.body)
		}
	}

	c.recorded(winner)
}

// recorded checks that the record has the same winner, and one claim only.
func (c *contest) recorded(winner string) {
	read := func(path string) map[string]any {
		return c.insist(
			0, func(base string) (answer, error) { return c.ask(c.agents[0], base, "/v1/tasks/"+c.id+path, "", nil) },
		).body
	}
	if task := read(""); task["status"] != "IN_PROGRESS" || task["assignee_id"] != winner {
		c.complain("task %s: won by agent %s, the record has %v", c.id, winner, task)
	}

	events, _ := read("/events")["items"].([]any)
	var claims []any
	for _, item := range events {
		if event := item.(map[string]any); event["type"] == "claimed" {
			claims = append(claims, event["actor_id"])
		}
	}

	if len(events) != 2 || len(claims) != 1 || claims[0] != winner {
		c.complain("task %s: won by agent %s, its events are %v", c.id, winner, events)
	}
}

var raceClient = http.Client{Timeout: 40 * time.Second}

// insist calls one API and then the other, until an answer contains the outcome.
func (r *taskRace) insist(first int, ask func(base string) (answer, error)) (got answer) {
	var err error
	for try, began := 0, time.Now(); time.Since(began) < wait.Patience; try++ {
		if try > 0 {
			r.unanswered.Add(1)
			time.Sleep(100 * time.Millisecond)
		}
		got, err = ask(r.urls[(first+try)%len(r.urls)])
		if err == nil && got.status < 500 {
			return got
		}
	}

	r.Errorf("a request is never answered; the last time: %d %v %v", got.status, got.body, err)
	return got
}

// ask makes one call. Without a body it reads.
func (r *taskRace) ask(m member, base, path, key string, body any) (got answer, err error) {
	r.asked.Add(1)
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

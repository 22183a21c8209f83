package containers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// api is the API of a running project, as one user of it sees it.
type api struct {
	*checkout
	address, token string
}

// errRefused is a response that a retry would not change.
var errRefused = errors.New("refused")

// call sends a request until the API answers it: it may be unavailable, and the key makes retries safe.
func (a *api) call(method, path, key string, body, answer any) {
	a.Helper()
	var err error
	for range 120 {
		if err = a.try(method, path, key, body, answer); err == nil {
			return
		}
		if errors.Is(err, errRefused) {
			break
		}
		time.Sleep(time.Second)
	}
	a.Fatalf("%s %s: %v", method, path, err)
}

func (a *api) try(method, path, key string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, a.address+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}

	response, err := (&http.Client{Timeout: 20 * time.Second}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	switch status := response.StatusCode; {
	case err != nil:
		return err
	case status >= 400 && status < 500 && status != http.StatusTooManyRequests:
		return fmt.Errorf("%w: %s %s", errRefused, response.Status, text)
	case status >= 300:
		return fmt.Errorf("%s %s", response.Status, text)
	}
	return json.Unmarshal(text, answer)
}

// demoUser is a user with a chat, in the project of the profile dev.
func demoUser(c *checkout) (user, admin *api) {
	c.Helper()
	admin = &api{c, fmt.Sprintf("http://127.0.0.1:%d", c.ports["api"]), "sc_dev-administrator-of-the-demonstration"}
	var made struct{ Token string }
	admin.call("POST", "/v1/users", "night-user", map[string]any{"name": "Night", "telegram_id": 2002}, &made)
	c.standin("telegram", 8081, "/_/users/2002/messages", `{"text":"/start"}`)
	return &api{c, admin.address, made.Token}, admin
}

// standin calls a simulator within the project's networks; with a body it is a POST.
func (c *checkout) standin(name string, port int, path, body string) string {
	c.Helper()
	args := []string{"exec", "-T", "standin-" + name, "wget", "-q", "-O", "-"}
	if body != "" {
		args = append(args, "--header", "Content-Type: application/json", "--post-data", body)
	}
	return c.compose(append(args, fmt.Sprintf("http://127.0.0.1:%d%s", port, path))...)
}

// batch is some work of each kind, which takes a few seconds.
type batch struct {
	user, admin                          *api
	files                                []string
	deliveries, tasks, downloads, orders []string
}

const each = 4 // of each kind in a batch

// begin starts a batch of work whose names begin with a word.
func begin(user, admin *api, word string) *batch {
	c := user.checkout
	c.Helper()
	b := &batch{user: user, admin: admin}
	var made struct{ ID, Hash string }
	var workspace struct{ ID string }
	user.call("POST", "/v1/workspaces", word+"-workspace", map[string]any{"name": word}, &workspace)
	for i := range each {
		one := fmt.Sprintf("%s-%d", word, i)
		b.files = append(b.files, one+".bin")
		c.compose("exec", "-T", "standin-yandex", "sh", "-c", "head -c 30000000 /dev/urandom >/standins/yandex/"+one+".bin")
		user.call("POST", "/v1/tasks", one+"-task", map[string]any{"workspace_id": workspace.ID, "title": one}, &made)
		b.tasks = append(b.tasks, made.ID)
		var book struct{ ID string }
		user.call("POST", "/v1/books", one+"-book", map[string]any{"title": one, "author": "Nobody"}, &book)
		user.call("POST", "/v1/downloads", one+"-download", map[string]any{
			"book_id": book.ID, "media_type": "text", "source": "test", "source_url": fmt.Sprintf("magnet:?xt=urn:btih:%040x", time.Now().UnixNano()),
		}, &made)
		b.downloads = append(b.downloads, made.ID)

		if i%2 == 0 { // the simulator's wallet has money for some twenty
			answer := c.standin("toncenter", 8084, "/_/deposits", `{"amount_nano":600000000,"comment":"demo_reader 50"}`)
			c.must(json.Unmarshal([]byte(answer), &made))
			b.orders = append(b.orders, made.Hash)
		}
	}

	for i, file := range b.files {
		id := user.fileID(file)
		user.call("POST", "/v1/deliveries", fmt.Sprintf("%s-%d-delivery", word, i), map[string]any{"file_id": id}, &made)
		b.deliveries = append(b.deliveries, made.ID)
	}
	return b
}

// fileID finds a file of the shared folder.
func (a *api) fileID(name string) string {
	a.Helper()
	var files struct {
		Items []struct {
			FileID string `json:"file_id"`
			Name   string
		}
	}
	for range 60 {
		a.call("GET", "/v1/files?limit=200", "", nil, &files)
		for _, file := range files.Items {
			if file.Name == name {
				return file.FileID
			}
		}
		time.Sleep(time.Second) // a listing is cached for some seconds
	}
	a.Fatalf("%s is not in the folder", name)
	return ""
}

// finish claims and completes the tasks, waits for the other work, and checks that everything ended as it should, once.
func (b *batch) finish() {
	c := b.user.checkout
	c.Helper()
	for _, task := range b.tasks {
		var done struct{ Status string }
		b.user.call("POST", "/v1/tasks/"+task+"/claim", task+"-claim", map[string]any{"comment": "mine"}, &done)
		b.user.call("POST", "/v1/tasks/"+task+"/status", task+"-done", map[string]any{"to": "DONE", "comment": "done"}, &done)
		if done.Status != "DONE" {
			c.Errorf("task %s is %s", task, done.Status)
		}
	}

	for _, id := range b.deliveries {
		b.ends(b.user, "/v1/deliveries/"+id, "DELIVERED", "FAILED", "EXPIRED", "CANCELLED")
	}
	for _, id := range b.downloads {
		b.ends(b.user, "/v1/downloads/"+id, "completed", "failed", "canceled")
	}
	for _, hash := range b.orders {
		b.ends(b.admin, "/v1/transactions/"+hash, "processed", "failed")
	}

	chat := c.standin("telegram", 8081, "/_/chats/2002", "")
	for _, file := range b.files {
		if times := strings.Count(chat, `"`+file+`"`); times != 1 {
			c.Errorf("%s is in the chat %d times", file, times)
		}
	}
}

// ends waits until a row has reached its good end; another end fails the test.
func (b *batch) ends(a *api, path, good string, bad ...string) {
	a.Helper()
	var row map[string]any
	for range 300 {
		row = nil
		if err := a.try("GET", path, "", nil, &row); err == nil {
			state := fmt.Sprint(row["state"], row["status"])
			if strings.Contains(state, good) {
				return
			}
			for _, end := range bad {
				if strings.Contains(state, end) {
					a.Errorf("%s: %v", path, row)
					return
				}
			}
		}
		time.Sleep(time.Second)
	}
	a.Errorf("%s has not ended: %v", path, row)
}

// purchases counts what the shop has sold.
func (c *checkout) purchases() int {
	c.Helper()
	var sold struct{ Items []json.RawMessage }
	c.must(json.Unmarshal([]byte(c.standin("fragment", 8085, "/_/purchases", "")), &sold))
	return len(sold.Items)
}

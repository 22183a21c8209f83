package rest_test

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"stagecoach/internal/fault"
	"stagecoach/internal/yandex"
)

// logs is a log that a test can read while it is written.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// temporalStub is a Temporal that accepts every start and knows no workflow.
type temporalStub struct {
	client.Client
	mu      sync.Mutex
	started []string
	woken   []string // workflows that were signaled, and started if they were not running
	down    bool
	looks   atomic.Int64 // health checks
}

func (s *temporalStub) isDown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

func (s *temporalStub) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

func (s *temporalStub) ExecuteWorkflow(
	_ context.Context, o client.StartWorkflowOptions, _ any, _ ...any,
) (client.WorkflowRun, error) {
	if s.isDown() {
		return nil, errors.New("secret: no route")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = append(s.started, o.ID)
	return nil, nil
}

func (s *temporalStub) SignalWithStartWorkflow(
	_ context.Context, id, _ string, _ any, _ client.StartWorkflowOptions, _ any, _ ...any,
) (client.WorkflowRun, error) {
	if s.isDown() {
		return nil, errors.New("secret: no route")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.woken = append(s.woken, id)
	return nil, nil
}

func (s *temporalStub) SignalWorkflow(context.Context, string, string, string, any) error {
	if s.isDown() {
		return errors.New("secret: no route")
	}
	return serviceerror.NewNotFound("no such workflow")
}

func (s *temporalStub) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	if s.isDown() {
		return nil, errors.New("secret: no route")
	}
	return nil, serviceerror.NewNotFound("no such workflow")
}

func (s *temporalStub) CheckHealth(context.Context, *client.CheckHealthRequest) (*client.CheckHealthResponse, error) {
	s.looks.Add(1)
	if s.isDown() {
		return nil, errors.New("secret: no route")
	}
	return &client.CheckHealthResponse{}, nil
}

func (s *temporalStub) WorkflowService() workflowservice.WorkflowServiceClient { return queueStub{} }

type queueStub struct {
	workflowservice.WorkflowServiceClient
}

func (queueStub) DescribeTaskQueue(
	context.Context, *workflowservice.DescribeTaskQueueRequest, ...grpc.CallOption,
) (*workflowservice.DescribeTaskQueueResponse, error) {
	return &workflowservice.DescribeTaskQueueResponse{}, nil
}

// disk is a storage in memory.
type disk struct {
	mu    sync.Mutex
	items map[string]yandex.Item
	fails error
}

func newDisk() *disk {
	return &disk{items: map[string]yandex.Item{"/": {Path: "/", Folder: true}}}
}

func (d *disk) put(p string, size int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.items[p] = yandex.Item{Path: p, Name: path.Base(p), Size: size, Modified: time.Now()}
	for up := path.Dir(p); up != "/"; up = path.Dir(up) {
		d.items[up] = yandex.Item{Path: up, Name: path.Base(up), Folder: true, Modified: time.Now()}
	}
}

func (d *disk) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails = err
}

func (d *disk) Stat(_ context.Context, p string) (yandex.Item, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	item, ok := d.items[p]
	if !ok {
		return item, fault.New(fault.FileNotFound, "no such file or folder")
	}
	return item, d.fails
}

func (d *disk) List(_ context.Context, p string, limit, offset int) (yandex.Page, error) {
	d.mu.Lock()
	defer d.mu.Unlock()

	if d.fails != nil {
		return yandex.Page{}, d.fails
	}

	var children []yandex.Item
	for full, item := range d.items {
		if full != "/" && path.Dir(full) == p {
			children = append(children, item)
		}
	}

	slices.SortFunc(children, func(a, b yandex.Item) int { return strings.Compare(a.Name, b.Name) })
	page := yandex.Page{Total: len(children), Offset: offset}
	if offset < len(children) {
		page.Items = children[offset:min(offset+limit, len(children))]
	}
	return page, nil
}

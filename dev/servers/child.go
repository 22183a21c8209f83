package servers

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// child is the process of a server, which can be restarted on the same data and ports.
type child struct {
	name     string                                      // of the server, for errors
	lockFile string                                      // keeps others away from the data; empty: there is none
	launch   func(ctx context.Context) (*process, error) // returns when the server is ready
	end      func(p *process) error                      // asks it to end
	crash    func(p *process)                            // ends it immediately

	mu      sync.Mutex // guards the fields below
	process *process   // nil while stopped
	unlock  func()
}

// startAnywhere is the first start. choose chooses the ports, the preferred ones first and any later, and returns that
// of the server. Another process may take it before the server does, which may then end without a message about it.
func (c *child) startAnywhere(ctx context.Context, choose func(preferred bool) (port int, err error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()

	for preferred := true; ; preferred = false {
		port, err := choose(preferred)
		if err != nil {
			return err
		}
		if err = c.start(ctx); err == nil || ctx.Err() != nil || !portTaken(err) && portIsFree(port) {
			return err
		}
	}
}

// start takes the lock and launches the server. The caller holds c.mu.
func (c *child) start(ctx context.Context) (err error) {
	unlock := func() {}
	if c.lockFile != "" {
		unlock, err = lock(c.lockFile)
		if errors.Is(err, errLocked) {
			return fmt.Errorf("a server that is running already uses %s: stop it or choose another place", c.lockFile)
		} else if err != nil {
			return err
		}
	}

	process, err := c.launch(ctx)
	if err != nil {
		unlock()
		return err
	}
	c.process, c.unlock = process, unlock
	return nil
}

// Stop shuts the server down and waits until it has ended. On a stopped server it is a no-op.
func (c *child) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.release(c.end)
}

// Kill ends the server immediately, as a crash does, and waits until no process is left.
func (c *child) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.release(func(p *process) error { c.crash(p); return nil })
}

func (c *child) release(how func(*process) error) error {
	if c.process == nil {
		return nil
	}
	err := how(c.process)
	c.unlock()
	c.process, c.unlock = nil, nil
	return err
}

// Restart stops the server, if it is running, and starts it on the same ports and data. In-memory state is lost.
func (c *child) Restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The server may have crashed before, or had to be killed. It has ended in each case, so the error is dropped.
	_ = c.release(c.end)
	if err := c.start(ctx); err != nil {
		return fmt.Errorf("restart %s: %w", c.name, err)
	}
	return nil
}

// Done is closed when the current server has ended, for any reason. While stopped it is already closed.
func (c *child) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	return c.process.done
}

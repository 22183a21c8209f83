// Package mcp is the command by which a program that starts its tool servers itself reaches the tools of the API.
package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

const (
	longestLine = 1 << 20         // bytes; the API takes no longer message
	atATime     = 16              // requests; more wait
	grace       = 5 * time.Second // after the end of the input, for the answers of what is under way
)

// New makes the command.
func New() *cobra.Command {
	return &cobra.Command{
		Use: "mcp", Args: terminal.AsUsed,
		Short: "Give an agent the tools of the API: the Model Context Protocol over standard input and output",
		Long: "Hands each message on to /mcp of the API, with your token, and writes the answers. It has no tool of its own: what the\n" +
			"agent may do is what the token's scopes allow. It ends when its input ends.",
		Example: "  claude mcp add stagecoach --env STAGECOACH_API_URL=… --env STAGECOACH_TOKEN=… -- starter mcp",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := remote.Client(cmd, false)
			if err != nil {
				return err
			}

			b := newBridge(c, cmd.OutOrStdout(), cmd.ErrOrStderr())
			if err := b.check(cmd.Context()); err != nil {
				return err
			}
			return b.run(cmd.Context(), cmd.InOrStdin())
		},
	}
}

// bridge hands messages on to an API.
type bridge struct {
	api    *client.Client
	errors io.Writer

	writing sync.Mutex
	out     io.Writer

	mu      sync.Mutex
	version string                        // of the protocol, when the client has begun with a handshake
	running map[string]context.CancelFunc // the requests under way, by their ids
}

func newBridge(c *client.Client, out, errs io.Writer) *bridge {
	return &bridge{api: c, out: out, errors: errs, running: map[string]context.CancelFunc{}}
}

// check refuses to begin where no API answers, or not to this token.
func (b *bridge) check(ctx context.Context) error {
	_, err := b.post(ctx, message{Method: "ping"}, []byte(`{"jsonrpc":"2.0","id":0,"method":"ping"}`))
	return err
}

// run hands on what comes until the input ends, and what is under way then for a moment more.
func (b *bridge) run(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	lines := make(chan []byte)
	ended := make(chan error, 1)
	go func() { ended <- readLines(ctx, in, lines) }()

	var underWay sync.WaitGroup
	slots := make(chan struct{}, atATime)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			defer time.AfterFunc(grace, cancel).Stop()
			underWay.Wait()
			return err
		case line := <-lines:
			m, err := parse(line)
			if err != nil {
				b.write(failure(nil, -32700, "this line is no message of the protocol"))
				continue
			}

			if m.Method == "notifications/cancelled" {
				b.cancel(m.Params.RequestID)
			}

			if m.Method == "initialize" { // what follows it depends on its answer
				b.hand(ctx, m, line)
				continue
			}

			underWay.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				b.hand(ctx, m, line)
			})
		}
	}
}

// readLines reads lines until the input ends. One that is too long is handed on cut off, and so is refused.
func readLines(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	reader := bufio.NewReaderSize(in, 64<<10)
	for {
		var line []byte
		for {
			part, more, err := reader.ReadLine()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("the input cannot be read: %w", err)
			}

			if len(line) <= longestLine {
				line = append(line, part...)
			}

			if !more {
				break
			}
		}

		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}

		select {
		case lines <- line[:min(len(line), longestLine)]:
		case <-ctx.Done():
			return nil
		}
	}
}

// hand hands one message on, and writes its answer.
func (b *bridge) hand(ctx context.Context, m message, line []byte) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	if id := string(m.ID); id != "" {
		b.mu.Lock()
		b.running[id] = cancel
		b.mu.Unlock()
		defer func() { b.mu.Lock(); delete(b.running, id); b.mu.Unlock() }()
	}

	answer, err := b.post(ctx, m, line)
	switch {
	case len(m.ID) == 0, ctx.Err() != nil: // nobody waits for an answer
		return
	case err != nil:
		fmt.Fprintln(b.errors, terminal.Printable(err.Error()))
		answer = failure(m.ID, -32603, err.Error())
	case m.Method == "initialize":
		b.agree(answer)
	}

	b.write(answer)
}

// agree remembers the version of the protocol that client and API have agreed on.
func (b *bridge) agree(answer []byte) {
	var hello envelope
	if json.Unmarshal(answer, &hello) == nil {
		b.mu.Lock()
		b.version = hello.Result.ProtocolVersion
		b.mu.Unlock()
	}
}

// cancel ends a request of the client that is under way.
func (b *bridge) cancel(id json.RawMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if end := b.running[string(id)]; end != nil {
		end()
	}
}

// write writes one message as one line.
func (b *bridge) write(answer []byte) {
	var line bytes.Buffer
	if err := json.Compact(&line, answer); err != nil {
		return // post has read it as JSON
	}
	line.WriteByte('\n')

	b.writing.Lock()
	defer b.writing.Unlock()
	_, _ = b.out.Write(line.Bytes()) // a client that has left closes the input, too
}

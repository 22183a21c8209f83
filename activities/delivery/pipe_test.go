package delivery

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"stagecoach/internal/fault"
)

// passes records the calls of onPass as "first", "last" or "both".
type passes []string

func (p *passes) note(first, last bool) error {
	*p = append(
		*p, map[[2]bool]string{{true, true}: "both", {true, false}: "first", {false, true}: "last"}[[2]bool{first, last}],
	)
	return nil
}

// TestPipeGivesAllBytes reads pipes of any size in pieces of any size from sources that return any amount.
func TestPipeGivesAllBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), 1, 2000).Draw(t, "content")
		source := io.Reader(bytes.NewReader(content))
		switch rapid.IntRange(0, 3).Draw(t, "source") {
		case 1:
			source = iotest.OneByteReader(source)
		case 2:
			source = iotest.DataErrReader(source)
		case 3:
			source = iotest.HalfReader(source)
		}

		var seen passes
		p := newPipe("x", int64(len(content)), source, seen.note)
		got, err := io.ReadAll(readFunc(func(into []byte) (int, error) {
			return p.Read(into[:min(len(into), rapid.IntRange(1, 700).Draw(t, "piece"))])
		}))
		if err != nil || !bytes.Equal(got, content) {
			t.Fatalf("got %d bytes, %v; want %d", len(got), err, len(content))
		}
		if n := len(seen); !(n == 1 && seen[0] == "both" || n == 2 && seen[0] == "first" && seen[1] == "last") {
			t.Fatalf("onPass was told %v", seen)
		}
	})
}

// TestPipeHoldsTheLastBytesBack refuses the last bytes: they must never be passed on.
func TestPipeHoldsTheLastBytesBack(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	p := newPipe("x", 10, bytes.NewReader(make([]byte, 10)), func(_, last bool) error {
		if last {
			return no
		}
		return nil
	})

	got, err := io.ReadAll(iotest.OneByteReader(p))
	if len(got) != 9 || !errors.Is(err, no) {
		t.Errorf("got %d bytes and %v", len(got), err)
	}
}

func TestPipeRefusesAnotherSize(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		has  int
		code fault.Code
	}{
		"shorter": {9, fault.YandexUnavailable},
		"longer":  {11, fault.FileChanged},
	} {
		var seen passes
		p := newPipe("x", 10, bytes.NewReader(make([]byte, c.has)), seen.note)
		got, err := io.ReadAll(p)
		if fault.CodeOf(err) != c.code || len(got) >= 10 {
			t.Errorf("%s: got %d bytes and %v, want %s", name, len(got), err, c.code)
		}
	}
}

// TestWatchBlamesTheRightSide stalls each side in turn.
func TestWatchBlamesTheRightSide(t *testing.T) {
	t.Parallel()
	limits := stallLimits{storage: 200 * time.Millisecond, sendInit: 200 * time.Millisecond, chunk: 200 * time.Millisecond}
	blocked := func(ctx context.Context) io.Reader {
		return readFunc(func([]byte) (int, error) { <-ctx.Done(); return 0, context.Cause(ctx) })
	}

	for name, c := range map[string]struct {
		act  func(context.Context, *pipe)
		want fault.Code
	}{
		"Telegram takes no first byte": {func(context.Context, *pipe) {}, fault.TelegramUnavailable},
		"Telegram takes no more":       {func(_ context.Context, p *pipe) { p.Read(make([]byte, 5)) }, fault.TelegramUnavailable},
		"the storage gives nothing":    {func(ctx context.Context, p *pipe) { p.source = blocked(ctx); p.Read(make([]byte, 5)) }, fault.YandexUnavailable},
		"the answer may take long":     {func(_ context.Context, p *pipe) { io.ReadAll(p) }, ""},
		"the record may take long": {func(_ context.Context, p *pipe) {
			p.beforeBytes = func(bool, bool) error { time.Sleep(600 * time.Millisecond); return nil }
			io.ReadAll(p)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancelCause(t.Context())
				defer stop(nil)

				var seen passes
				p := newPipe("x", 10, bytes.NewReader(make([]byte, 10)), seen.note)
				go p.watch(ctx, limits, stop)
				c.act(ctx, p)
				select {
				case <-ctx.Done():
				case <-time.After(700 * time.Millisecond):
				}

				if got := fault.CodeOf(context.Cause(ctx)); got != c.want {
					t.Errorf("blamed %q, want %q", got, c.want)
				}
			})
		})
	}
}

// Package terminal is what the command lines starter and go run ./dev share: arguments, signals and output.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// screenWidth is a width that every terminal has: a longer line would wrap and break the redrawing.
const screenWidth = 79

// Screen writes permanent lines and, on a terminal, lines at the bottom that are redrawn in place. Elsewhere the bottom
// lines are omitted, so that a log has one line for each change.
type Screen struct {
	Out  io.Writer
	Live bool

	mu    sync.Mutex
	lines []string // at the bottom now
}

func NewScreen(out io.Writer) *Screen {
	file, ok := out.(*os.File)
	if !ok {
		return &Screen{Out: out}
	}
	info, err := file.Stat()
	return &Screen{Out: out, Live: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// Say writes a permanent line.
func (s *Screen) Say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprint(s.Out, s.erase()+fmt.Sprintf(format, args...)+"\n"+s.paint())
}

// Draw replaces the lines at the bottom.
func (s *Screen) Draw(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.Live {
		return
	}
	erase := s.erase()
	s.lines = lines
	fmt.Fprint(s.Out, erase+s.paint())
}

func (s *Screen) erase() string {
	if len(s.lines) == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", len(s.lines))
}

func (s *Screen) paint() string {
	var b strings.Builder
	for _, line := range s.lines {
		b.WriteString(Shorten(line, screenWidth) + "\n")
	}
	return b.String()
}

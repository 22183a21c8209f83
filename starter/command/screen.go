package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// screenWidth is what any terminal shows in one line: a longer one would wrap and spoil the redrawing.
const screenWidth = 79

// screen shows what happens. On a terminal it keeps a few lines at the bottom that are redrawn in place; elsewhere these
// lines are left out, so that a log holds one line per change and no more.
type screen struct {
	out  io.Writer
	live bool

	mu    sync.Mutex
	lines []string // at the bottom now
}

func newScreen(out io.Writer) *screen {
	file, ok := out.(*os.File)
	if !ok {
		return &screen{out: out}
	}
	info, err := file.Stat()
	return &screen{out: out, live: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// say writes text that stays.
func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprint(s.out, s.erase()+fmt.Sprintf(format, args...)+"\n"+s.paint())
}

// draw replaces the lines at the bottom.
func (s *screen) draw(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live {
		return
	}
	erase := s.erase()
	s.lines = lines
	fmt.Fprint(s.out, erase+s.paint())
}

func (s *screen) erase() string {
	if len(s.lines) == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", len(s.lines))
}

func (s *screen) paint() string {
	var b strings.Builder
	for _, line := range s.lines {
		b.WriteString(shorten(line, screenWidth) + "\n")
	}
	return b.String()
}

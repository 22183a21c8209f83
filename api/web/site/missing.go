package site

import (
	"net/http"
	"slices"
	"strings"

	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
)

// forPrograms are the path roots below which everybody gets JSON problems.
var forPrograms = []string{"v1", "docs", "mcp", "codec"}

// missing responds to a browser with an error page; false: the client is a program.
func (s *Site) missing(w http.ResponseWriter, rq *http.Request, p *server.Problem) bool {
	root, _, _ := strings.Cut(strings.TrimPrefix(rq.URL.Path, "/"), "/")
	if slices.Contains(forPrograms, root) || !strings.Contains(rq.Header.Get("Accept"), "text/html") {
		return false
	}

	r, err := s.admit(rq)
	if err != nil {
		r = s.stranger(rq)
	}

	r.Problem = s.problemOf(r, fault.New(p.Code, "%s", p.Detail))
	r.Problem.Status = p.Status
	switch p.Code {
	case fault.NotFound:
		r.Problem.Text = s.texts["no-page"].In(r.Language)
	case fault.MethodNotAllowed:
		r.Problem.Text = s.texts["no-form"].In(r.Language)
	}

	s.protect(w)
	s.drawProblem(w, r)
	return true
}

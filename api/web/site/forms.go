package site

import (
	"bytes"
	"io"
	"net/http"
)

// strangersForm is how many bytes the form of a page for everybody has at most: a token, and where it leads.
const strangersForm = 16 << 10

// withForm reads the form of a request into memory, within what the process and the user may hold, and hands it on.
func (s *Site) withForm(w http.ResponseWriter, r *Request, most int64, next func(http.ResponseWriter, *Request)) {
	body, release, err := s.API.HoldBody(w, r.Request, r.Who.User, most)
	defer release()
	if err != nil {
		s.fail(w, r, err)
		return
	}

	r.Body = io.NopCloser(bytes.NewReader(body))
	next(w, r)
}

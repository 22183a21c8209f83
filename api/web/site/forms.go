package site

import (
	"bytes"
	"io"
	"net/http"
)

// strangersForm is the maximum size in bytes of a form on a public page: a token, and the next page.
const strangersForm = 16 << 10

// withForm reads a request's form into memory, within what the process and the user may hold, and passes it on.
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

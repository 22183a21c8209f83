package outbound

import (
	"errors"
	"io"
	"net/http"
)

// ErrTooLong is the error of an answer longer than its limit.
var ErrTooLong = errors.New("the answer is too long")

// ReadAnswer reads a complete answer of at most limit bytes. A longer answer's part is freed with the error.
func ReadAnswer(answer io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(answer, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, ErrTooLong
	}
	return data, nil
}

// Bounded bounds an answer that a library reads by itself: reading more than limit bytes fails with ErrTooLong.
func Bounded(answer *http.Response, limit int64) *http.Response {
	answer.Body = &boundedBody{ReadCloser: answer.Body, left: limit}
	return answer
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 { // one more byte distinguishes an answer that ends at the limit from a longer one
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		return int(b.left), ErrTooLong
	}
	b.left -= int64(n)
	return n, err
}

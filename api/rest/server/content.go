package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"time"
)

// Content is static content, the same for everybody while the process runs, plain and compressed.
type Content struct {
	Hash          string // of the content
	whole, packed []byte
}

// NewContent compresses static content.
func NewContent(content []byte) Content {
	sum := sha256.Sum256(content)
	return Content{Hash: hex.EncodeToString(sum[:]), whole: content, packed: Pack(content)}
}

// Serve responds with the content, or with 304 when the client has it. The caller sets its type and cache lifetime.
func (c Content) Serve(w http.ResponseWriter, r *http.Request) {
	content, tag := c.whole, c.Hash
	if Unpacks(r) {
		w.Header().Set("Content-Encoding", "gzip")
		content, tag = c.packed, c.Hash+"-gzip" // a strong ETag identifies exact bytes
	}

	w.Header().Set("Vary", "Accept-Encoding")
	w.Header().Set("ETag", `"`+tag+`"`)
	ServeContent(w, r, time.Time{}, bytes.NewReader(content))
}

// mostRanges is how many ranges one request may ask for: apps use one, or a handful.
const mostRanges = 5

// ServeContent responds with content, or with the requested ranges of it. A request for too many ranges gets all of it,
// as RFC 9110 allows: each range costs a part of a response.
func ServeContent(w http.ResponseWriter, r *http.Request, modified time.Time, content io.ReadSeeker) {
	if strings.Count(r.Header.Get("Range"), ",") >= mostRanges {
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, "", modified, content)
}

// Unpacks reports whether the client accepts gzip.
func Unpacks(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") }

// Pack compresses a content with gzip.
func Pack(content []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(content) // a buffer accepts everything
	_ = w.Close()
	return packed.Bytes()
}

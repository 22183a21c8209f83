package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"
)

// Content is what is the same for everybody for as long as the process runs, as it is and compressed.
type Content struct {
	Hash          string // of the content
	whole, packed []byte
}

// NewContent compresses a content.
func NewContent(content []byte) Content {
	sum := sha256.Sum256(content)
	return Content{Hash: hex.EncodeToString(sum[:]), whole: content, packed: Pack(content)}
}

// Serve answers with the content, or with 304 when the client has it. Its type and how long it may be kept are the
// caller's.
func (c Content) Serve(w http.ResponseWriter, r *http.Request) {
	content, tag := c.whole, c.Hash
	if Unpacks(r) {
		w.Header().Set("Content-Encoding", "gzip")
		content, tag = c.packed, c.Hash+"-gzip" // a strong tag names bytes
	}

	w.Header().Set("Vary", "Accept-Encoding")
	w.Header().Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// Unpacks says whether who sends a request takes gzip.
func Unpacks(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") }

// Pack compresses a content with gzip.
func Pack(content []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(content) // a buffer takes everything
	_ = w.Close()
	return packed.Bytes()
}

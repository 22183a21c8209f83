package site

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed static
var static embed.FS

// asset is a file below /static.
type asset struct {
	hash            string // its beginning, in the file's address, so that browsers can keep the file for ever
	content, packed []byte
}

// assets are these files by their names.
var assets = func() map[string]asset {
	all := map[string]asset{}
	files, _ := static.ReadDir("static")
	for _, file := range files {
		content, _ := static.ReadFile("static/" + file.Name())
		sum := sha256.Sum256(content)
		all[file.Name()] = asset{hash: hex.EncodeToString(sum[:6]), content: content, packed: pack(content)}
	}
	return all
}()

// assetPath is the address of a file below /static.
func assetPath(name string) string { return "/static/" + assets[name].hash + "/" + name }

func (s *Site) routeAssets() {
	s.API.Mux.HandleFunc("GET /static/{hash}/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		file, known := assets[name]
		if !known || file.hash != r.PathValue("hash") {
			http.NotFound(w, r)
			return
		}

		w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		w.Header().Set("Vary", "Accept-Encoding")
		content := file.content
		if unpacks(r) {
			w.Header().Set("Content-Encoding", "gzip")
			content = file.packed
		}
		_, _ = w.Write(content)
	})
}

// packsPage says whether the page that answers a request may be compressed. A page of ours may show a code or an
// unguessable address beside words of its own address. A site that makes a browser open such pages with words of its
// choice could find out the code by the sizes of compressed answers (BREACH). So a page is compressed only when a person
// opens it by hand or from another page of ours, which browsers say in these headers. What the script loads again is
// not compressed either, because its address may come from elsewhere.
func packsPage(r *http.Request) bool {
	from := r.Header.Get("Sec-Fetch-Site")
	return (from == "same-origin" || from == "none") && r.Header.Get("Sec-Fetch-Mode") == "navigate" && unpacks(r)
}

// unpacks says whether who sends a request takes gzip.
func unpacks(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") }

func pack(content []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(content) // a buffer takes everything
	_ = w.Close()
	return packed.Bytes()
}

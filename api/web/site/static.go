package site

import (
	"embed"
	"mime"
	"net/http"
	"path"

	"stagecoach/api/rest/server"
)

//go:embed static
var static embed.FS

// assets are these files by name.
var assets = func() map[string]server.Content {
	all := map[string]server.Content{}
	files, _ := static.ReadDir("static")
	for _, file := range files {
		content, _ := static.ReadFile("static/" + file.Name())
		all[file.Name()] = server.NewContent(content)
	}
	return all
}()

// assetPath is the URL of a file below /static. It contains a prefix of the file's hash, so that browsers can cache the
// file forever.
func assetPath(name string) string { return "/static/" + assets[name].Hash[:12] + "/" + name }

func (s *Site) routeAssets() {
	s.API.Mux.HandleFunc("GET /static/{hash}/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		file, known := assets[name]
		if !known || file.Hash[:12] != r.PathValue("hash") {
			http.NotFound(w, r)
			return
		}

		w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		file.Serve(w, r)
	})
}

// packsPage reports whether the page that answers a request may be compressed. Some pages show a code or an unguessable
// URL beside words of their own URL. A site that makes a browser open such pages with chosen words could find out the
// code from the sizes of compressed responses (BREACH). So a page is only compressed when a person opens it directly or
// from another page of ours, which browsers report in these headers. What the script reloads is not compressed either,
// because its URL may come from elsewhere.
func packsPage(r *http.Request) bool {
	from := r.Header.Get("Sec-Fetch-Site")
	return (from == "same-origin" || from == "none") && r.Header.Get("Sec-Fetch-Mode") == "navigate" && server.Unpacks(r)
}

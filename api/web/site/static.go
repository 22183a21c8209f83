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

// assets are these files by their names.
var assets = func() map[string]server.Content {
	all := map[string]server.Content{}
	files, _ := static.ReadDir("static")
	for _, file := range files {
		content, _ := static.ReadFile("static/" + file.Name())
		all[file.Name()] = server.NewContent(content)
	}
	return all
}()

// assetPath is the address of a file below /static. It has the beginning of the file's hash, so that browsers can keep the
// file for ever.
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

// packsPage says whether the page that answers a request may be compressed. A page of ours may show a code or an
// unguessable address beside words of its own address. A site that makes a browser open such pages with words of its
// choice could find out the code by the sizes of compressed answers (BREACH). So a page is compressed only when a person
// opens it by hand or from another page of ours, which browsers say in these headers. What the script loads again is
// not compressed either, because its address may come from elsewhere.
func packsPage(r *http.Request) bool {
	from := r.Header.Get("Sec-Fetch-Site")
	return (from == "same-origin" || from == "none") && r.Header.Get("Sec-Fetch-Mode") == "navigate" && server.Unpacks(r)
}

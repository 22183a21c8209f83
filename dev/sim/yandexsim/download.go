package yandexsim

import (
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"

	"stagecoach/dev/sim"
)

// getDownload returns a URL from which the file can be downloaded without a token.
func (y *Server) getDownload(r *http.Request) (any, error) {
	name, err := diskPath(r)
	if err != nil {
		return nil, err
	}

	e, err := y.stat(name)
	if err != nil {
		return nil, err
	}
	if e.info.IsDir() { // the real service packs a folder into an archive, which the product never requests
		return nil, &sim.Problem{Status: http.StatusNotFound}
	}

	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	href := url.URL{
		Scheme: scheme, Host: r.Host, Path: "/download/" + base64.RawURLEncoding.EncodeToString([]byte(name)),
		RawQuery: url.Values{"filename": {path.Base(name)}}.Encode(),
	}
	return map[string]any{"href": href.String(), "method": http.MethodGet, "templated": false}, nil
}

// serveDownload sends the bytes behind a link, or a range of them.
func (y *Server) serveDownload(w http.ResponseWriter, r *http.Request) {
	name, err := base64.RawURLEncoding.DecodeString(r.PathValue("link"))
	if err != nil {
		failYandex(w, r, sim.Problem{Status: http.StatusForbidden})
		return
	}

	f, err := y.root.Open(string(name))
	if err != nil {
		failYandex(w, r, sim.Problem{Status: http.StatusNotFound})
		return
	}
	defer func() { _ = f.Close() }()

	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		failYandex(w, r, sim.Problem{Status: http.StatusNotFound})
		return
	}

	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(string(name))}))
	h.Set("ETag", fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixMicro(), info.Size()))
	http.ServeContent(w, r, "", info.ModTime(), f)
}

package yandexsim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"stagecoach/dev/sim"
)

// link is the content of a download address. Its signature makes forged addresses invalid.
type link struct {
	Path  string `json:"path"`
	Until int64  `json:"until"` // Unix time in milliseconds
}

// getDownload returns an address from which the file can be downloaded for HrefTTL, without a token.
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

	token, err := y.sign(link{Path: name, Until: time.Now().Add(y.options.HrefTTL).UnixMilli()})
	if err != nil {
		return nil, err
	}

	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	href := url.URL{
		Scheme: scheme, Host: r.Host, Path: "/download/" + token,
		RawQuery: url.Values{"filename": {path.Base(name)}}.Encode(),
	}
	return map[string]any{"href": href.String(), "method": http.MethodGet, "templated": false}, nil
}

// serveDownload sends the bytes behind a link, or a range of them.
func (y *Server) serveDownload(w http.ResponseWriter, r *http.Request) {
	l, ok := y.verify(r.PathValue("link"))
	if !ok || time.Now().UnixMilli() > l.Until {
		failYandex(w, r, sim.Problem{Status: http.StatusForbidden})
		return
	}

	f, err := y.root.Open(l.Path)
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
	h.Set("Content-Type", mimeType(l.Path))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(l.Path)}))
	h.Set("ETag", fmt.Sprintf(`"%x-%x"`, revision(info), info.Size()))
	if y.options.BytesPerSecond > 0 {
		w = &sim.LimitedWriter{ResponseWriter: w, Limiter: sim.SpeedLimit(y.options.BytesPerSecond)}
	}

	http.ServeContent(w, r, "", info.ModTime(), f)
}

func (y *Server) sign(l link) (string, error) {
	data, err := json.Marshal(l)
	if err != nil {
		return "", err
	}
	enc := base64.RawURLEncoding
	return enc.EncodeToString(data) + "." + enc.EncodeToString(y.mac(data)), nil
}

func (y *Server) verify(token string) (l link, ok bool) {
	payload, signature, _ := strings.Cut(token, ".")
	data, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return l, false
	}
	mac, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || !hmac.Equal(mac, y.mac(data)) {
		return l, false
	}
	return l, json.Unmarshal(data, &l) == nil
}

func (y *Server) mac(data []byte) []byte {
	m := hmac.New(sha256.New, y.linkKey)
	m.Write(data)
	return m.Sum(nil)
}

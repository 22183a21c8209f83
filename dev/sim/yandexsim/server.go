// Package yandexsim simulates Yandex Disk and Yandex OAuth.
package yandexsim

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"stagecoach/dev/sim"
)

// Options are the settings of the simulated Yandex Disk and Yandex OAuth.
type Options struct {
	Dir          string        // the files on the disk; a new file is listed immediately
	ClientID     string        // the OAuth application's id
	ClientSecret string        // and the application's secret
	RefreshToken string        // first valid refresh token
	AccessToken  string        // first valid access token; optional
	TokenTTL     time.Duration // life of access tokens; 0 means 24 hours
	StateFile    string        // keeps the tokens across restarts; empty: memory only
	SkipHashes   bool          // leave sha256 out: for benchmarks on large files
}

// Server simulates the REST API of Yandex Disk, its download hosts and the OAuth server, all at one address.
type Server struct {
	sim.Control
	options Options
	system  *http.ServeMux
	root    *os.Root // refuses every path that leads outside, including through symbolic links
	tokens  *tokens
	hashes  *hashes
}

// New opens the simulator and creates its folder if necessary.
func New(o Options) (*Server, error) {
	if o.TokenTTL == 0 {
		o.TokenTTL = 24 * time.Hour
	}

	if o.Dir == "" {
		return nil, errors.New("yandex simulator: no folder given")
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("yandex simulator: %w", err)
	}

	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("yandex simulator: %w", err)
	}

	tokens, err := openTokens(o)
	if err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("yandex simulator: tokens: %w", err)
	}

	y := &Server{options: o, root: root, tokens: tokens, hashes: &hashes{known: map[string]knownHash{}}}
	y.SetUp(sim.Protocol{Mask: maskLink, Fail: failYandex})
	y.addRoutes()
	return y, nil
}

// addRoutes adds the routes of Yandex's own APIs.
func (y *Server) addRoutes() {
	y.system = http.NewServeMux()
	y.system.Handle("GET /v1/disk", y.rest(y.getDisk))
	y.system.Handle("GET /v1/disk/resources", y.rest(y.getResource))
	y.system.Handle("GET /v1/disk/resources/download", y.rest(y.getDownload))
	y.system.HandleFunc("GET /download/{link}", y.serveDownload)
	y.system.HandleFunc("POST /token", y.postToken)
	y.system.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		failYandex(w, r, sim.Problem{Status: http.StatusNotFound, Text: "NotFoundError"})
	})
}

// Close releases held connections and the folder; the handler must no longer be served.
func (y *Server) Close() error {
	y.ClearFaults()
	return y.root.Close()
}

// ExpireAccessTokens ends every access token; a refresh token still gets a new one.
func (y *Server) ExpireAccessTokens() { y.tokens.expire() }

// RevokeRefreshTokens ends every refresh token, as when the owner withdraws the permission.
func (y *Server) RevokeRefreshTokens() { y.tokens.revoke() }

// ServeHTTP serves Yandex's APIs at the root and the control routes under /_/.
func (y *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { y.Serve(w, r, y.system) }

// rest wraps a call of the REST API: its authorization and the format of its responses.
func (y *Server) rest(answer func(r *http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "OAuth ")
		if !ok || !y.tokens.valid(token) {
			failYandex(w, r, sim.Problem{Status: http.StatusUnauthorized})
			return
		}

		result, err := answer(r)
		var refusal *sim.Problem
		switch {
		case err == nil:
			sim.WriteJSON(w, http.StatusOK, result)
		case errors.As(err, &refusal):
			failYandex(w, r, *refusal)
		default:
			failYandex(w, r, sim.Problem{Status: http.StatusInternalServerError})
		}
	})
}

// yandexErrors are the usual error names of the REST API.
var yandexErrors = map[int]string{
	400: "FieldValidationError",
	401: "UnauthorizedError",
	403: "ForbiddenError",
	404: "DiskNotFoundError",
	406: "NotAcceptableError",
	413: "DiskFileTooLargeError",
	423: "DiskResourceLockedError",
	429: "TooManyRequestsError",
	500: "InternalServerError",
	502: "BadGatewayError",
	503: "DiskServiceUnavailableError",
	504: "GatewayTimeoutError",
	507: "DiskStorageQuotaExhaustedError",
}

// failYandex responds with an error in the format of the REST API, of the OAuth server or of the download hosts, by
// path.
func failYandex(w http.ResponseWriter, r *http.Request, p sim.Problem) {
	name := p.Text
	switch {
	case strings.HasPrefix(r.URL.Path, "/download/"):
		http.Error(w, http.StatusText(p.Status), p.Status)
		return
	case r.URL.Path == "/token":
		if name == "" {
			name = "server_error"
		}
		sim.WriteJSON(w, p.Status, map[string]string{"error": name, "error_description": name})
		return
	case name == "":
		if name = yandexErrors[p.Status]; name == "" {
			name = strings.ReplaceAll(http.StatusText(p.Status), " ", "") + "Error"
		}
	}

	description := http.StatusText(p.Status)
	sim.WriteJSON(w, p.Status, map[string]string{"error": name, "description": description, "message": description})
}

// maskLink hides the part of a download link that gives anyone access to the file.
func maskLink(p string) string {
	if strings.HasPrefix(p, "/download/") {
		return "/download/***"
	}
	return p
}

// diskPath turns the path of a call ("disk:/a", "/a" or "a") into one below the root: "a", or "." for the root.
func diskPath(r *http.Request) (string, error) {
	p := r.URL.Query().Get("path")
	if p == "" {
		return "", &sim.Problem{Status: http.StatusBadRequest}
	}

	p = strings.Trim(strings.TrimPrefix(p, "disk:"), "/")
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return "", &sim.Problem{Status: http.StatusBadRequest, Text: "DiskPathFormatError"}
		}
	}
	return path.Clean(p), nil
}

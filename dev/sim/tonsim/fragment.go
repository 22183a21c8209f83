package tonsim

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/xssnick/tonutils-go/address"
	"github.com/xssnick/tonutils-go/ton/wallet"

	"stagecoach/dev/sim"
)

// FragmentOptions are the settings of the simulated Fragment.
type FragmentOptions struct {
	Dir          string // keeps users, requests and purchases across restarts; empty: memory only
	TonCenterURL string // from which it reads the payments
	Token        string // the value that the session's stel_token must have; empty: any
	Settings     FragmentSettings
}

// FragmentSettings can be changed with Set. As an option, a zero field means its default.
type FragmentSettings struct {
	NanoPerStar int64  `json:"nano_per_star"` // price of one Star in nanoTON; 9,218,000
	InitPercent int64  `json:"init_percent"`  // a request costs this percentage of the price shown; 100
	LinkPercent int64  `json:"link_percent"`  // a payment costs this percentage of its request's amount; 100
	LinkSeconds int64  `json:"link_seconds"`  // lifetime of a payment link; 600
	LatencyMS   int64  `json:"latency_ms"`    // added to every call
	DoneAfterMS int64  `json:"done_after_ms"` // from a payment until the Stars are sent
	Confirm     bool   `json:"confirm"`       // Stars are sent only after confirmReq
	Bounceable  bool   `json:"bounceable"`    // the address of payments is shown as EQ…
	To          string `json:"to"`            // payments go to this address instead
	// only the session's last request is served: neither the payment nor the confirmation of an earlier one is taken
	OnlyLast bool `json:"only_last"`
	Verify   bool `json:"verify"` // every link first requires the owner to verify their identity
	// the session is connected to it; empty: to the wallet of the simulated toncenter
	Wallet        string `json:"wallet"`
	SessionFailed string `json:"session_expired"` // the response to every call that needs the session; empty: it is valid
}

var fragmentDefaults = FragmentSettings{NanoPerStar: 9_218_000, InitPercent: 100, LinkPercent: 100, LinkSeconds: 600}

// Fragment simulates Fragment's web API, which sells Telegram Stars. It reads the payments from the chain.
type Fragment struct {
	sim.Control
	options FragmentOptions
	system  *http.ServeMux
	address *address.Address
	http    *http.Client

	mu      sync.Mutex
	state   fragmentState
	journal *sim.Journal[fragmentEntry]
}

// NewFragment opens the simulator with the state that an earlier one left in the same folder.
func NewFragment(o FragmentOptions) (_ *Fragment, err error) {
	f := &Fragment{options: o, state: newFragmentState(o.Settings), http: &http.Client{Timeout: 10 * time.Second}}
	if o.TonCenterURL == "" {
		return nil, errors.New("fragment simulator: no toncenter to check for payments")
	}

	f.address, err = wallet.AddressFromPubKey(
		shopKey().Public().(ed25519.PublicKey), wallet.ConfigV5R1Final{NetworkGlobalID: wallet.MainnetGlobalID}, 0,
	)
	if err != nil {
		return nil, fmt.Errorf("fragment simulator: address of payments: %w", err)
	}
	if f.journal, err = sim.OpenJournal(o.Dir, f.state.apply); err != nil {
		return nil, fmt.Errorf("fragment simulator: %w", err)
	}

	if f.state.hash == "" {
		if err := f.commit(fragmentEntry{Hash: newPageHash()}); err != nil {
			return nil, errors.Join(err, f.journal.Close())
		}
	}

	f.addRoutes(f.SetUp(sim.Protocol{
		Mask: func(p string) string { return p }, Call: fragmentMethod, Fail: failFragment, Named: fragmentFaults,
	}))
	return f, nil
}

// Close releases held connections and closes the journal; the handler must no longer be served.
func (f *Fragment) Close() error {
	f.ClearFaults()
	f.http.CloseIdleConnections()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.journal.Close()
}

// Texts of Fragment's responses.
const (
	noSuchUser     = "No Telegram users found."
	notAUser       = "Please enter a username assigned to a user."
	notGiftable    = "You can&#39;t gift Telegram Stars to this account at this moment."
	sessionExpired = "Session expired"
	badRequestText = "Bad request"
	puzzling       = "Something went wrong"
)

// fragmentFaults are responses with status 200 that contain an error, or a page that is not the API's.
var fragmentFaults = map[string]sim.Problem{
	"unknown_user":         {Status: 200, Text: noSuchUser},
	"not_a_user":           {Status: 200, Text: notAUser},
	"not_giftable":         {Status: 200, Text: notGiftable},
	"session_expired":      {Status: 200, Text: sessionExpired},
	"auth_session_expired": {Status: 200, Text: "AUTH_SESSION_EXPIRED"},
	"unauthorized":         {Status: 200, Text: "unauthorized"},
	"access_denied":        {Status: 200, Text: "Access denied"},
	"something":            {Status: 200, Text: puzzling},
	"nonsense":             {Status: 200},
}

// failFragment responds with an error: in JSON on the API, as a page elsewhere.
func failFragment(w http.ResponseWriter, r *http.Request, p sim.Problem) {
	if p.Text != "" {
		sim.WriteJSON(w, cmp.Or(p.Status, http.StatusOK), map[string]string{"error": p.Text})
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(p.Status)
	_, _ = fmt.Fprintf(
		w, "<!DOCTYPE html><html><head><title>Fragment</title></head><body><h1>%d %s</h1></body></html>", p.Status,
		http.StatusText(p.Status),
	)
}

// fragmentMethod returns which method of the API is called: all of them have one path.
func fragmentMethod(r *http.Request) string {
	if r.Method != http.MethodPost || r.URL.Path != "/api" {
		return ""
	}
	data, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20)) // the handler reports a body that cannot be read
	r.Body = io.NopCloser(bytes.NewReader(data))
	form, _ := url.ParseQuery(string(data))
	return form.Get("method")
}

// ServeHTTP serves Fragment's site at the root and the control routes under /_/.
func (f *Fragment) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.Serve(w, r, f.system) }

func (f *Fragment) addRoutes(control *http.ServeMux) {
	control.HandleFunc("GET /_/purchases", f.getPurchases)
	control.HandleFunc("POST /_/users", func(w http.ResponseWriter, r *http.Request) {
		var u fragmentUser
		if sim.ReadControl(w, r, &u) {
			sim.AnswerControl(w, f.SetUser(u.Username, u.Kind))
		}
	})
	control.HandleFunc("POST /_/hash/renew", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		sim.AnswerControl(w, f.commit(fragmentEntry{Hash: newPageHash()}))
	})

	f.system = http.NewServeMux()
	f.system.HandleFunc("GET /stars/buy", f.getPage)
	f.system.HandleFunc("GET /my/profile", f.getProfile)
	f.system.HandleFunc("POST /api", f.postAPI)
	f.system.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		failFragment(w, r, sim.Problem{Status: http.StatusNotFound})
	})
}

func (f *Fragment) getPage(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	hash := f.state.hash
	f.mu.Unlock()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, `<!DOCTYPE html>
<html><head><title>Buy Telegram Stars</title></head><body>
<main class="tm-main"><div class="tm-stars-amount">50 Stars</div></main>
<script>ajInit({"version":1,"apiUrl":"\/api?hash=%s","state":{"mode":"new"}});</script>
</body></html>
`, hash)
}

// postAPI serves a method of the API.
func (f *Fragment) postAPI(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	latency, hash := time.Duration(f.state.settings.LatencyMS)*time.Millisecond, f.state.hash
	f.mu.Unlock()
	if latency > 0 && !sim.Sleep(r.Context(), latency) {
		sim.Abort()
	}

	method, ok := fragmentMethods[fragmentMethod(r)]
	switch {
	case r.Header.Get("X-Requested-With") != "XMLHttpRequest", r.Header.Get("Referer") == "", r.Header.Get("Origin") == "":
		failFragment(w, r, sim.Problem{Status: http.StatusForbidden})
		return
	case r.URL.Query().Get("hash") != hash || !ok || r.ParseForm() != nil:
		failFragment(w, r, sim.Problem{Status: http.StatusOK, Text: badRequestText})
		return
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	if method.session && !f.session(r) {
		text := cmp.Or(f.state.settings.SessionFailed, sessionExpired)
		failFragment(w, r, sim.Problem{Status: http.StatusOK, Text: text})
		return
	}

	result, err := method.answer(f, r)
	var refusal *sim.Problem
	switch {
	case err == nil:
		writeEscaped(w, result)
	case errors.As(err, &refusal):
		failFragment(w, r, *refusal)
	default:
		failFragment(w, r, sim.Problem{Status: http.StatusServiceUnavailable})
	}
}

// writeEscaped writes JSON as PHP does, with its slashes escaped. f.mu may be held, so it must not wait.
func writeEscaped(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(bytes.ReplaceAll(data, []byte("/"), []byte(`\/`)))
}

// session reports whether a request has the session of a user who is logged in with a wallet.
func (f *Fragment) session(r *http.Request) bool {
	values := map[string]string{}
	for _, c := range r.Cookies() {
		values[c.Name] = c.Value
	}
	return f.state.settings.SessionFailed == "" &&
		values["stel_ssid"] != "" && values["stel_token"] != "" && values["stel_ton_token"] != "" &&
		(f.options.Token == "" || values["stel_token"] == f.options.Token)
}

// SetUser sets what a username stands for, see userKinds. Every other username belongs to a user.
func (f *Fragment) SetUser(username, kind string) error {
	username = plainUsername(username)
	if !usernameForm.MatchString(username) {
		return fmt.Errorf("invalid username %q: it has 4 to 32 letters, digits and underscores, and begins with a letter", username)
	}
	if _, ok := userKinds[kind]; !ok {
		return fmt.Errorf("unknown kind %q; allowed: %s", kind, strings.Join(slices.Sorted(maps.Keys(userKinds)), ", "))
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	return f.commit(fragmentEntry{User: &fragmentUser{Username: username, Kind: kind}})
}

// plainUsername is the normal form of a username.
func plainUsername(text string) string {
	return strings.ToLower(strings.TrimPrefix(strings.TrimSpace(text), "@"))
}

// CurrentSettings returns the current settings.
func (f *Fragment) CurrentSettings() FragmentSettings {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.settings
}

// Set changes all settings.
func (f *Fragment) Set(s FragmentSettings) error {
	if min(s.NanoPerStar, s.InitPercent, s.LinkPercent) <= 0 || min(s.LinkSeconds, s.LatencyMS, s.DoneAfterMS) < 0 {
		return errors.New("prices and percentages must be positive, times must not be negative")
	}

	if s.To != "" {
		if _, err := parseAccount(s.To); err != nil {
			return err
		}
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	return f.commit(fragmentEntry{Settings: &s})
}

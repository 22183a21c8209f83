package torrentsim

import (
	"crypto/rand"
	"net"
	"net/http"
	"strings"
	"time"

	"stagecoach/dev/sim"
)

const (
	maxFailures = 5 // wrong passwords until an address is banned
	banDuration = time.Hour
	bearer      = "Bearer "
)

// sessionName is the cookie's name: since version 5.2 it has the port.
func (q *QBittorrent) sessionName(r *http.Request) string {
	if q.plain() {
		return "SID"
	}
	_, port, _ := net.SplitHostPort(r.Host)
	return "QBT_SID_" + port
}

// failedLogins are the wrong passwords of one address.
type failedLogins struct {
	count  int
	banned time.Time // until when; zero: not banned
}

// login starts a session. A request with a valid session succeeds with any password, as in the real program.
func (q *QBittorrent) login(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.Header.Get("Authorization"), bearer) && !q.plain() { // an API key starts no session
		failQBittorrent(w, r, sim.Problem{Status: http.StatusForbidden})
		return
	}
	if q.authorised(r) {
		q.admit(w)
		return
	}
	if err := readForm(r); err != nil {
		failQBittorrent(w, r, sim.Problem{Status: http.StatusBadRequest})
		return
	}

	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	q.mu.Lock()
	defer q.mu.Unlock()

	failed := q.logins[address]
	if !failed.banned.IsZero() && !failed.banned.After(q.now()) {
		failed = failedLogins{}
	}

	switch {
	case !failed.banned.IsZero():
		failQBittorrent(w, r, qbittorrentFaults["banned"])
	case r.Form.Get("username") == q.options.Username && r.Form.Get("password") == q.options.Password:
		delete(q.logins, address)
		id := rand.Text()
		q.sessions[id] = true
		http.SetCookie(
			w, &http.Cookie{Name: q.sessionName(r), Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode},
		)
		q.admit(w)
	default:
		if failed.count++; failed.count == maxFailures {
			failed.banned = q.now().Add(banDuration)
		}
		q.logins[address] = failed
		if q.plain() {
			writeText(w, http.StatusOK, "Fails.")
		} else {
			failQBittorrent(w, r, sim.Problem{Status: http.StatusUnauthorized})
		}
	}
}

// admit responds to a successful login.
func (q *QBittorrent) admit(w http.ResponseWriter) {
	if q.plain() {
		writeText(w, http.StatusOK, "Ok.")
	} else {
		w.WriteHeader(http.StatusNoContent)
	}
}

// authorised reports whether the request belongs to a session, or has the API key, which version 5.2 supports. A
// session lasts until Restart: the clock may advance by hours, so an end after an hour without a request would come at
// random.
func (q *QBittorrent) authorised(r *http.Request) bool {
	if key, given := strings.CutPrefix(r.Header.Get("Authorization"), bearer); given && !q.plain() {
		return q.options.APIKey != "" && key == q.options.APIKey
	}

	cookie, err := r.Cookie(q.sessionName(r))
	if err != nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.sessions[cookie.Value]
}

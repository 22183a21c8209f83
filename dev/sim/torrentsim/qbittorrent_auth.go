package torrentsim

import (
	"crypto/rand"
	"net"
	"net/http"
	"time"

	"stagecoach/dev/sim"
)

const (
	maxFailures = 5     // wrong passwords before an address is banned
	sessionName = "SID" // the cookie
)

// failedLogins are the wrong passwords of one address.
type failedLogins struct {
	count  int
	banned time.Time // until when; zero: not
}

// login starts a session. A request with a valid session succeeds with any password, as in the real program.
func (q *QBittorrent) login(w http.ResponseWriter, r *http.Request) {
	if q.authorised(r) {
		writeText(w, http.StatusOK, "Ok.")
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
			w, &http.Cookie{Name: sessionName, Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode},
		)
		writeText(w, http.StatusOK, "Ok.")
	default:
		if failed.count++; failed.count == maxFailures {
			failed.banned = q.now().Add(q.options.BanDuration)
		}
		q.logins[address] = failed
		writeText(w, http.StatusOK, "Fails.")
	}
}

func (q *QBittorrent) logout(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(sessionName); err == nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.sessions, cookie.Value)
	}
	writeText(w, http.StatusOK, "")
}

// authorised reports whether the request belongs to a session. A session lasts until Restart: the clock may advance by
// hours, so an end after an hour without a request would come at random.
func (q *QBittorrent) authorised(r *http.Request) bool {
	cookie, err := r.Cookie(sessionName)
	if err != nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.sessions[cookie.Value]
}

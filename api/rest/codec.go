package rest

import (
	"net/http"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

// CodecOptions let the temporal command line and Temporal's Web UI read encrypted payloads.
type CodecOptions struct {
	Handler   http.Handler // by the protocol of remote codecs; nil: nothing is encrypted, there is no such door
	Namespace string       // the only one whose payloads are known
	Origin    string       // of the Web UI, whose pages may ask from a browser; empty: none may
}

// registerCodec serves /codec/decode and /codec/encode, for administrators only. It stands beside the API: its form is
// Temporal's, and so are its clients.
func (s *server) registerCodec() {
	if s.o.Codec.Handler == nil {
		return
	}

	for _, name := range []string{"decode", "encode"} {
		op := operation{id: "codec-" + name, access: forAdmins, scope: store.ScopeOperate}
		s.mux.HandleFunc("OPTIONS /codec/"+name, func(w http.ResponseWriter, r *http.Request) {
			if s.fromWebUI(w, r) { // a browser asks beforehand, and tells no credentials
				w.WriteHeader(http.StatusNoContent)
			}
		})

		s.mux.HandleFunc("POST /codec/"+name, func(w http.ResponseWriter, r *http.Request) {
			if s.fromWebUI(w, r) && s.mayRead(w, r, op) {
				r.Body = http.MaxBytesReader(w, r.Body, maxBody)
				s.o.Codec.Handler.ServeHTTP(w, r)
			}
		})
	}

	// A browser asks its user for a password when a page of ours wants one, and from then on tells it to those above.
	s.mux.HandleFunc("GET /codec/{$}", func(w http.ResponseWriter, r *http.Request) {
		if s.mayRead(w, r, operation{id: "codec-login", access: forAdmins, scope: store.ScopeOperate}) {
			_, _ = w.Write([]byte("This browser may read payloads now.\n")) // whoever asked has left
		}
	})
}

// fromWebUI refuses pages of other origins than the Web UI's, and lets the Web UI's read the answer.
func (s *server) fromWebUI(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" { // no browser
		return true
	}

	w.Header().Add("Vary", "Origin")
	if origin != s.o.Codec.Origin {
		newProblem(
			fault.InsufficientAccess,
			"pages of this origin may not ask: the setting STAGECOACH_WEB_UI_URL names the one that may",
		).write(w)
		return false
	}

	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Set("Access-Control-Allow-Credentials", "true")
	w.Header().Set("Access-Control-Allow-Methods", http.MethodPost)
	w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
	return true
}

// mayRead lets administrators in: by their token, or with it as a password, for a browser knows no other way.
func (s *server) mayRead(w http.ResponseWriter, r *http.Request, op operation) bool {
	header := r.Header.Get("Authorization")
	if _, password, ok := r.BasicAuth(); ok {
		header = "Bearer " + password
	}

	who, err := s.authenticate(r.Context(), header)
	if err == nil {
		noteOf(r.Context()).user = userHash(who.user.ID)
		err = s.o.Requests.Take(r.Context(), who.user)
	}

	if err == nil {
		if err = who.permit(op); err != nil {
			s.audit(r.Context(), who.user, op, "", store.OutcomeRefused)
		}
	}

	if namespace := r.Header.Get("X-Namespace"); err == nil && namespace != "" && namespace != s.o.Codec.Namespace {
		err = fault.New(fault.Validation, "payloads of this namespace are not known here").WithField("X-Namespace")
	}

	if err == nil {
		return true
	}

	p := s.problem(r.Context(), err)
	if p.Code == fault.Unauthenticated {
		p.header.Set("WWW-Authenticate", `Basic realm="stagecoach: an administrator's token is the password"`)
	}

	p.write(w)
	return false
}

package operators

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// CodecOptions let the temporal command line and Temporal's Web UI read encrypted payloads.
type CodecOptions struct {
	Handler   http.Handler // by the protocol of remote codecs; nil: nothing is encrypted, and nothing is served
	Namespace string       // the only one whose payloads are known
	Origin    string       // of the Web UI, whose pages may send requests from a browser; empty: none may
}

// codecHandlers answer the requests for encrypted payloads.
type codecHandlers struct {
	*server.Server
	CodecOptions
}

// RegisterCodec serves /codec/decode and /codec/encode, for administrators only. They are not operations of the API:
// their form is Temporal's, and so are their clients.
func RegisterCodec(s *server.Server, codec CodecOptions) {
	if codec.Handler == nil {
		return
	}

	h := &codecHandlers{s, codec}
	for _, name := range []string{"decode", "encode"} {
		s.Mux.HandleFunc("OPTIONS /codec/"+name, func(w http.ResponseWriter, r *http.Request) {
			if h.fromWebUI(w, r) { // the preflight of a browser has no credentials
				w.WriteHeader(http.StatusNoContent)
			}
		})

		s.Mux.HandleFunc("POST /codec/"+name, func(w http.ResponseWriter, r *http.Request) {
			if h.fromWebUI(w, r) && h.mayRead(w, r, "codec-"+name) {
				h.convert(w, r, name == "decode")
			}
		})
	}

	// This page makes a browser ask for a password, which the browser then sends to the paths above too.
	s.Mux.HandleFunc("GET /codec/{$}", func(w http.ResponseWriter, r *http.Request) {
		if h.mayRead(w, r, "codec-login") {
			_, _ = w.Write([]byte("This browser may read payloads now.\n")) // an error means that the client has left
		}
	})
}

// convert answers with payloads that are decoded or encoded. A successful reading is written to the audit log with the
// number of payloads.
func (h *codecHandlers) convert(w http.ResponseWriter, r *http.Request, reading bool) {
	body, release, err := h.HoldBody(w, r, server.Caller(r.Context()), server.MaxBody)
	defer release()
	if err != nil {
		h.Refuse(r.Context(), w, err, "")
		return
	}

	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
	h.Handler.ServeHTTP(answer, r)
	if !reading || answer.status != http.StatusOK {
		return
	}

	var sent struct{ Payloads []json.RawMessage }
	_ = json.Unmarshal(body, &sent) // it was read already
	h.Done(r.Context(), strconv.Itoa(len(sent.Payloads)))
}

// statusRecorder remembers the status of an answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// fromWebUI refuses pages of other origins than the Web UI's, and lets the Web UI's read the answer.
func (h *codecHandlers) fromWebUI(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" { // no browser
		return true
	}

	w.Header().Add("Vary", "Origin")
	if origin != h.Origin {
		server.NewProblem(
			fault.InsufficientAccess,
			"pages of this origin may not ask: the setting STAGECOACH_WEB_UI_URL names the one that may",
		).Write(w)
		return false
	}

	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Set("Access-Control-Allow-Credentials", "true")
	w.Header().Set("Access-Control-Allow-Methods", http.MethodPost)
	w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
	return true
}

// mayRead lets administrators in: by their token, or with it as a password, for a browser knows no other way. id names
// what they do in the audit log.
func (h *codecHandlers) mayRead(w http.ResponseWriter, r *http.Request, id string) bool {
	header := r.Header.Get("Authorization")
	if _, password, ok := r.BasicAuth(); ok {
		header = "Bearer " + password
	}

	op := server.Operation{Id: id, Subject: "payloads", Access: server.ForAdmins, Scope: account.ScopeOperate}
	_, err := h.Admission(r.Context(), header, op, "")
	if namespace := r.Header.Get("X-Namespace"); err == nil && namespace != "" && namespace != h.Namespace {
		err = fault.Invalid("X-Namespace", "payloads of this namespace are not known here")
	}

	if err != nil {
		h.Refuse(r.Context(), w, err, `Basic realm="stagecoach: an administrator's token is the password"`)
	}
	return err == nil
}

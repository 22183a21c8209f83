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
	Handler   http.Handler // implements the remote codec protocol; nil: no encryption, and nothing is served
	Namespace string       // the only one whose payloads are known
	Origin    string       // of the Web UI, whose pages may send requests from a browser; empty: none may
}

// codecHandlers serve the requests for encrypted payloads.
type codecHandlers struct {
	*server.Server
	CodecOptions
}

// RegisterCodec serves /codec/decode and /codec/encode, for administrators only. They are not operations of the API:
// Temporal defines their format, and its tools are the clients.
func RegisterCodec(s *server.Server, codec CodecOptions) {
	if codec.Handler == nil {
		return
	}

	h := &codecHandlers{s, codec}
	for _, name := range []string{"decode", "encode"} {
		s.Mux.HandleFunc("OPTIONS /codec/"+name, func(w http.ResponseWriter, r *http.Request) {
			if h.fromWebUI(w, r) { // a browser's preflight has no credentials
				w.WriteHeader(http.StatusNoContent)
			}
		})

		s.Mux.HandleFunc("POST /codec/"+name, func(w http.ResponseWriter, r *http.Request) {
			if h.fromWebUI(w, r) && h.mayRead(w, r, "codec-"+name) {
				h.convert(w, r, name == "decode")
			}
		})
	}

	// This page makes a browser ask for a password, which it then also sends to the paths above.
	s.Mux.HandleFunc("GET /codec/{$}", func(w http.ResponseWriter, r *http.Request) {
		if h.mayRead(w, r, "codec-login") {
			_, _ = w.Write([]byte("This browser may read payloads now.\n")) // an error means that the client has disconnected
		}
	})
}

// convert responds with decoded or encoded payloads. A successful decoding is audited with the number of payloads.
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
	_ = json.Unmarshal(body, &sent) // it has been parsed before
	h.Done(r.Context(), strconv.Itoa(len(sent.Payloads)))
}

// statusRecorder records the status of a response.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// fromWebUI refuses pages of origins other than the Web UI's, and lets the Web UI's pages read the response.
func (h *codecHandlers) fromWebUI(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" { // not a browser
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

// mayRead admits administrators: by their token, or with the token as a basic-auth password, the only way for a
// browser. id names their action in the audit log.
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

package tool

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"stagecoach/api/client"
	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
)

// Path is the URL path of the protocol.
const Path = "/mcp"

// longest is the time limit of one request: a wait, and the response after it.
const longest = 60 * time.Second

const instructions = "Stagecoach runs file deliveries, tasks shared by agents, book downloads and payments. " +
	"Start with the tool status; explain gives the rules, and why an action on a task is not possible now. " +
	"To work on tasks: task_claim, task_heartbeat while you work, task_update when you are done. " +
	"Instead of polling, wait with events_wait. " +
	"Send an idempotency_key with each change, and the same one when you retry it. " +
	"A refusal has a code, the fields at fault and what is allowed instead. " + Warning

type endpoint struct {
	API    *server.Server // with all operations registered
	tools  []Tool
	server *mcp.Server
}

// Register serves the protocol on the API's server: streamable HTTP without sessions.
func Register(api *server.Server, parts ...Part) {
	e := &endpoint{API: api}
	us := &mcp.Implementation{Name: "stagecoach", Title: "Stagecoach", Version: api.Version}
	e.server = mcp.NewServer(us, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		// what a token sees is private to its holder, and changes with its scopes
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope, c.TTLMs = "private", 0 },
	})

	e.server.AddReceivingMiddleware(e.guarded)

	for _, part := range parts {
		for _, t := range part.Tools {
			e.tools = append(e.tools, t)
			e.server.AddTool(t.described(), e.handler(t))
		}
	}

	serving := func(*http.Request) *mcp.Server { return e.server }
	streamable := mcp.NewStreamableHTTPHandler(serving, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: server.MaxBody, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // a foreign site that reaches this address has no token
	})

	api.Mux.Handle(Path, e.fromOurPages(e.admitted(streamable)))
}

// fromOurPages admits pages of the service's own origin and of programs on this machine, such as the MCP inspector, and
// refuses those of other hosts, as the protocol requires of servers. Clients other than browsers send no Origin.
func (e *endpoint) fromOurPages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin, header := r.Header.Get("Origin"), w.Header()
		at, err := url.Parse(origin)
		local := err == nil && (at.Hostname() == "localhost" || net.ParseIP(at.Hostname()).IsLoopback())
		switch site := r.Header.Get("Sec-Fetch-Site"); {
		case origin == "" && (site == "" || site == "same-origin" || site == "none"):
			next.ServeHTTP(w, r)
			return
		case origin == "" || origin != e.API.PublicURL && !local:
			server.NewProblem(fault.InsufficientAccess, "pages of this origin may not use the tools").Write(w)
			return
		}

		header.Add("Vary", "Origin")
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Expose-Headers", "Mcp-Protocol-Version, Retry-After, WWW-Authenticate")
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		header.Set("Access-Control-Allow-Methods", http.MethodPost)
		header.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers")) // the token decides
		header.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	})
}

type callKey struct{}

// requestOf returns the call of a request, and the HTTP request's own context.
func requestOf(ctx context.Context) (*Call, context.Context) {
	held, _ := ctx.Value(callKey{}).(*request)
	if held == nil {
		return nil, nil
	}
	return held.call, held.ctx
}

type request struct {
	call *Call
	ctx  context.Context
}

// admitted serves requests with a valid token. Each request is admitted and counted once, here; the API calls of its
// tool are made as the same user.
func (e *endpoint) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), longest)
		defer cancel()

		authorization := r.Header.Get("Authorization")
		who, err := e.API.Admission(ctx, authorization, server.Operation{
			Id: "mcp", Access: server.ForUsers, Scope: server.AnyScope,
		}, "")
		if err != nil {
			e.API.Refuse(ctx, w, err, `Bearer realm="stagecoach"`)
			return
		}

		body, release, err := e.API.HoldBody(w, r, who.User, server.MaxBody)
		defer release()
		if err != nil {
			e.API.Refuse(ctx, w, err, "")
			return
		}

		if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) { // a request counts as one call for the rate limit
			server.NewProblem(fault.Validation, "send one message at a time").Write(w)
			return
		}

		r.Body = io.NopCloser(bytes.NewReader(body))
		if accept := r.Header.Get("Accept"); accept == "" || strings.Contains(accept, "application/json") || strings.Contains(accept, "*/*") {
			r.Header.Set("Accept", "application/json, text/event-stream") // the SDK requires both, and no response is a stream
		}

		call := e.callOf(who, server.BearerToken(authorization))
		for _, t := range e.tools {
			if e.closed(call, t) == nil {
				call.Tools = append(call.Tools, t.Name)
			}
		}

		held := &request{call: call}
		ctx = context.WithValue(server.WithPrincipal(ctx, who), callKey{}, held)
		held.ctx = ctx
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// callOf builds the Call through which a request's tools reach the API.
func (e *endpoint) callOf(who server.Principal, token string) *Call {
	as := func(transport http.RoundTripper) *client.Client {
		return &client.Client{Token: token, HTTP: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}
	}
	return &Call{
		Who: who,
		api: as(server.InProcess{Handler: e.API}), streams: as(server.InProcessStream{Handler: e.API, Log: e.API.Log}),
	}
}

// closed returns why a caller may not call a tool; nil: they may.
func (e *endpoint) closed(c *Call, t Tool) error {
	switch {
	case t.Admins && !c.Who.User.IsAdmin():
		return fault.New(fault.InsufficientAccess, "this is for administrators")
	default:
		return t.require(c.Who)
	}
}

// methods are the served methods of the protocol.
var methods = []string{
	"initialize", "notifications/initialized", "notifications/cancelled", "ping", "server/discover", "tools/list",
	"tools/call",
}

// guarded bounds a method by its HTTP request, recovers from panics, and hides tools that a caller may not call.
func (e *endpoint) guarded(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		if !slices.Contains(methods, method) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this method is not served here"}
		}

		call, outer := requestOf(ctx)
		if call == nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "this request has no caller"}
		}

		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(outer, cancel)()

		defer func() {
			if cause := recover(); cause != nil {
				e.API.Log.Error("tool panicked", "request", server.RequestID(ctx), "cause", cause, "stack", string(debug.Stack()))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the service has failed"}
			}
		}()

		result, err = next(ctx, method, req)
		if list, ok := result.(*mcp.ListToolsResult); ok && err == nil {
			list.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *mcp.Tool) bool {
				return !slices.Contains(call.Tools, t.Name)
			})
		}
		return result, err
	}
}

// handler runs a tool.
func (e *endpoint) handler(t Tool) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		call, _ := requestOf(ctx)
		if err := e.closed(call, t); err != nil {
			return e.refusal(ctx, call, t, r.Params.Arguments, err), nil
		}

		answer, err := t.perform(ctx, call, r.Params.Arguments)
		if err != nil {
			return e.refusal(ctx, call, t, r.Params.Arguments, err), nil
		}

		document, err := json.Marshal(answer.value)
		if err != nil {
			return e.refusal(ctx, call, t, nil, err), nil
		}

		text, err := framed(answer.summary, json.RawMessage(document))
		return &mcp.CallToolResult{
			StructuredContent: json.RawMessage(document), Content: []mcp.Content{&mcp.TextContent{Text: text}},
		}, err
	}
}

// framed combines a sentence of ours and a document, for clients that show agents only text. The frame differs in each
// response, so that no text inside can end it.
func framed(sentence string, value any) (string, error) {
	document, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	mark := "data-" + rand.Text()[:12]
	return fmt.Sprintf("%s\n%s\n<%s>\n%s\n</%s>", sentence, Warning, mark, document, mark), nil
}

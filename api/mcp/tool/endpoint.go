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
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"stagecoach/api/client"
	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
)

// Path is where the protocol is served.
const Path = "/mcp"

// ReadOnlyHeader with the value true hides all tools that change something, for one request.
const ReadOnlyHeader = "X-MCP-Readonly"

// longest is how long one request may take: a wait, and the answer after it.
const longest = 60 * time.Second

const instructions = "Stagecoach runs deliveries of files, tasks that agents share, downloads of books, and payments. " +
	"Begin with the tool status; explain tells the rules, and why an action on a task is not possible now. " +
	"Work on tasks: task_claim, task_heartbeat while you work, task_update when you are done. " +
	"Instead of asking again and again, wait with events_wait. " +
	"Send an idempotency_key with each change, and the same one when you repeat it. " +
	"A refusal has a code, the fields at fault and what is allowed instead. " + Warning

type endpoint struct {
	API    *server.Server // with all operations
	tools  []Tool
	server *mcp.Server
}

// Register serves the protocol on the server of the API: streamable HTTP without sessions.
func Register(api *server.Server, parts ...Part) error {
	e := &endpoint{API: api}
	us := &mcp.Implementation{Name: "stagecoach", Title: "Stagecoach", Version: api.Version}
	e.server = mcp.NewServer(us, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		// what a token sees is for its holder only, and changes with its scopes
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope, c.TTLMs = "private", 0 },
	})

	e.server.AddReceivingMiddleware(e.guarded)

	for _, part := range parts {
		for _, t := range part.Tools {
			e.tools = append(e.tools, t)
			e.server.AddTool(t.described(), e.handler(t))
		}
	}

	origins := http.NewCrossOriginProtection()
	if api.PublicURL != "" {
		if err := origins.AddTrustedOrigin(api.PublicURL); err != nil {
			return err
		}
	}

	serving := func(*http.Request) *mcp.Server { return e.server }
	streamable := mcp.NewStreamableHTTPHandler(serving, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: server.MaxBody, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // a strange site that reaches this address has no token
	})

	api.Mux.Handle(Path, origins.Handler(e.fromOurPages(e.admitted(streamable))))
	return nil
}

// fromOurPages refuses requests of pages of other hosts, as the protocol asks of servers. A host that a strange site
// has made a name of this address would pass the check before this one. What is no browser sends no Origin.
func (e *endpoint) fromOurPages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if at, err := url.Parse(origin); origin != "" && origin != e.API.PublicURL && (err != nil || !isLoopback(at.Hostname())) {
			server.NewProblem(fault.InsufficientAccess, "pages of this origin may not use the tools").Write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

type callKey struct{}

// requestOf gives who sends a request, and the HTTP request's own context.
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

// admitted serves those whose token is valid. Each request is admitted and counted once, here; what its tool asks of
// the API is asked as the same user.
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

		if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) { // one request is one call of the rate limit
			server.NewProblem(fault.Validation, "send one message at a time").Write(w)
			return
		}

		r.Body = io.NopCloser(bytes.NewReader(body))

		call := e.callOf(r, who, server.BearerToken(authorization))
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

// callOf makes what the tools of a request reach the API with.
func (e *endpoint) callOf(r *http.Request, who server.Principal, token string) *Call {
	as := func(transport http.RoundTripper) *client.Client {
		return &client.Client{Token: token, HTTP: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}
	}
	return &Call{
		Who: who, readOnly: r.Header.Get(ReadOnlyHeader) == "true",
		api: as(server.InProcess{Handler: e.API}), streams: as(server.InProcessStream{Handler: e.API, Log: e.API.Log}),
	}
}

// closed says why a caller may not call a tool; nil: they may.
func (e *endpoint) closed(c *Call, t Tool) error {
	switch {
	case t.Admins && !c.Who.User.IsAdmin():
		return fault.New(fault.InsufficientAccess, "this is for administrators")
	case c.readOnly && !t.Reads:
		return fault.New(fault.InsufficientAccess, "this connection only reads")
	default:
		return t.require(c.Who)
	}
}

// methods are those of the protocol that are served.
var methods = []string{
	"initialize", "notifications/initialized", "notifications/cancelled", "ping", "server/discover", "tools/list",
	"tools/call",
}

// guarded lets a method run as long as its HTTP request, answers a panic, and hides the tools that a caller may not
// call.
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
				e.API.Log.Error("a tool panicked", "request", server.RequestID(ctx), "cause", cause, "stack", string(debug.Stack()))
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

// framed gives a sentence of ours and a document, for clients that show agents the text only. The frame is another one
// in each answer, so that no text inside can end it.
func framed(sentence string, value any) (string, error) {
	document, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	mark := "data-" + rand.Text()[:12]
	return fmt.Sprintf("%s\n%s\n<%s>\n%s\n</%s>", sentence, Warning, mark, document, mark), nil
}

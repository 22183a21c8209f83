package rest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
)

//go:embed docs.html
var docsPage string

//go:embed docs.css
var docsStyle string

// registerDocs serves the OpenAPI document and a page that renders it. Each is built and compressed once, at its first
// request, so that a process starts sooner. The page is self-contained.
func registerDocs(s *server.Server) {
	openAnswers(s.OpenAPI())
	extendPatterns(s.OpenAPI())

	document := sync.OnceValue(func() server.Content {
		document, err := json.Marshal(s.OpenAPI())
		if err != nil {
			panic(fmt.Sprintf("the OpenAPI document cannot be written: %v", err)) // any test of this package would catch it
		}
		return server.NewContent(document)
	})

	page := sync.OnceValue(func() server.Content {
		var html bytes.Buffer
		page := template.Must(template.New("docs").Funcs(template.FuncMap{"code": codeSpans}).Parse(docsPage))
		if err := page.Execute(&html, newDocs(s)); err != nil {
			panic(fmt.Sprintf("the page of the API cannot be written: %v", err)) // likewise
		}
		return server.NewContent(html.Bytes())
	})

	style := sha256.Sum256([]byte(docsStyle))
	policy := "default-src 'none'; frame-ancestors 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(style[:]) + "'"

	s.Mux.HandleFunc("GET /openapi.json", counted(s, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		document().Serve(w, r)
	}))
	s.Mux.HandleFunc("GET /docs", counted(s, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		page().Serve(w, r)
	}))
}

// counted serves a document without authentication: each request counts against the rate of its network address.
// Clients may cache it for as long as a document may be stale after an upgrade.
func counted(s *server.Server, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.TakeOpen(r.Context()); err != nil {
			s.Refuse(r.Context(), w, err, "")
			return
		}

		w.Header().Set("Cache-Control", "public, max-age=300")
		serve(w, r)
	}
}

// docs is the page's template data: the document, and methods that describe parts of it.
type docs struct {
	*huma.OpenAPI
	Style      template.CSS
	Operations map[string][]*huma.Operation // by heading, ordered by path
	Kinds      map[fault.Code]server.Kind
	Codes      []fault.Code // of Kinds, ordered by status
}

func newDocs(s *server.Server) docs {
	d := docs{
		OpenAPI: s.OpenAPI(), Style: template.CSS(docsStyle), Operations: map[string][]*huma.Operation{}, Kinds: s.Kinds,
	}

	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, op := range operationsOf(d.Paths[path]) {
			d.Operations[op.Tags[0]] = append(d.Operations[op.Tags[0]], op)
		}
	}

	d.Codes = slices.SortedFunc(maps.Keys(s.Kinds), func(a, b fault.Code) int {
		return cmp.Or(cmp.Compare(s.Kinds[a].Status, s.Kinds[b].Status), cmp.Compare(a, b))
	})
	return d
}

// Request returns the schema of an operation's request body; nil if it takes none.
func (d docs) Request(op *huma.Operation) *huma.Schema {
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return nil
	}
	return d.resolve(op.RequestBody.Content["application/json"].Schema)
}

// Command returns a shell command that calls an operation.
func (d docs) Command(op *huma.Operation) (string, error) {
	path := op.Path
	var lines []string
	for _, p := range op.Parameters {
		example := fmt.Sprint(d.example(p.Schema))
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", example)
		case p.In == "header" && p.Required:
			lines = append(lines, fmt.Sprintf("-H '%s: %s'", p.Name, example))
		}
	}

	if len(op.Security) > 0 {
		lines = append(lines, `-H "Authorization: Bearer $TOKEN"`)
	}

	if request := d.Request(op); request != nil {
		body, err := json.Marshal(d.example(request))
		if err != nil {
			return "", err
		}
		lines = append(lines, "-H 'Content-Type: application/json'", "-d '"+string(body)+"'")
	}

	method := ""
	if op.Method != http.MethodGet {
		method = " -X " + op.Method
	}
	return strings.Join(append([]string{"curl" + method + ` "$API` + path + `"`}, lines...), " \\\n  "), nil
}

// codeSpans renders `code` in a text as code.
func codeSpans(text string) template.HTML {
	parts := strings.Split(template.HTMLEscapeString(text), "`")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = "<code>" + parts[i] + "</code>"
	}
	return template.HTML(strings.Join(parts, "")) // escaped above
}

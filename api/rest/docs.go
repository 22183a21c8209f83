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

// registerDocs serves the OpenAPI document and a page that shows it. Each is made once, when it is first asked for:
// most processes are never asked, and would start later. The page loads nothing else.
func registerDocs(s *server.Server) {
	openAnswers(s.OpenAPI())
	extendPatterns(s.OpenAPI())
	document := sync.OnceValue(func() []byte {
		document, err := json.Marshal(s.OpenAPI())
		if err != nil {
			text := fmt.Sprintf("the OpenAPI document cannot be written: %v", err)
			panic(text) // a fault of this package, which any test of it finds
		}
		return document
	})

	page := sync.OnceValue(func() []byte {
		var html bytes.Buffer
		page := template.Must(template.New("docs").Funcs(template.FuncMap{"code": codeSpans}).Parse(docsPage))
		if err := page.Execute(&html, newDocs(s)); err != nil {
			panic(fmt.Sprintf("the page of the API cannot be written: %v", err)) // likewise
		}
		return html.Bytes()
	})

	sum := sha256.Sum256([]byte(docsStyle))
	policy := "default-src 'none'; frame-ancestors 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"

	s.Mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(document()) // whoever asked has left
	})
	s.Mux.HandleFunc("GET /docs", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		_, _ = w.Write(page())
	})
}

// docs is what the page shows.
type docs struct {
	Title, Version, Description string
	Style                       template.CSS
	Groups                      []docsGroup
	Schemas                     []docsSchema
	Codes                       []docsCode
}

type docsGroup struct {
	Name       string
	Operations []docsOperation
}

type docsOperation struct {
	ID, Method, Path, Summary, Description string
	Token                                  bool
	Parameters                             []docsField
	Request                                *docsSchema
	Example                                string // a command line
	Responses                              []docsResponse
}

type docsResponse struct {
	Status, Description, MediaType string
	Schema                         *docsSchema
}

type docsSchema struct {
	Name    string
	Fields  []docsField
	Example string // JSON
}

type docsField struct {
	Name, In, Type, Description string
	Required                    bool
}

type docsCode struct {
	Code   fault.Code
	Status int
	Title  string
}

func newDocs(s *server.Server) docs {
	api := s.OpenAPI()
	d := docs{
		Title: api.Info.Title, Version: api.Info.Version, Description: api.Info.Description, Style: template.CSS(docsStyle),
	}

	r := reader{api.Components.Schemas}
	groups := map[string]*docsGroup{}
	for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
		for _, op := range operationsOf(api.Paths[path]) {
			name := op.Tags[0]
			if groups[name] == nil {
				groups[name] = &docsGroup{Name: name}
			}
			groups[name].Operations = append(groups[name].Operations, r.operation(op))
		}
	}

	for _, name := range slices.Sorted(maps.Keys(groups)) {
		d.Groups = append(d.Groups, *groups[name])
	}

	for _, name := range slices.Sorted(maps.Keys(r.schemas.Map())) {
		d.Schemas = append(d.Schemas, r.schema(name, r.schemas.Map()[name]))
	}

	for code, kind := range s.Kinds {
		d.Codes = append(d.Codes, docsCode{code, kind.Status, kind.Title})
	}

	slices.SortFunc(d.Codes, func(a, b docsCode) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
	})
	return d
}

// reader turns parts of the document into what the page shows.
type reader struct{ schemas huma.Registry }

func (r reader) operation(op *huma.Operation) docsOperation {
	shown := docsOperation{
		ID: op.OperationID, Method: op.Method, Path: op.Path, Summary: op.Summary, Description: op.Description,
		Token: len(op.Security) > 0,
	}

	for _, p := range op.Parameters {
		field := r.field(p.Name, p.Schema, p.Required)
		field.In = p.In
		shown.Parameters = append(shown.Parameters, field)
	}

	if op.RequestBody != nil {
		if media := op.RequestBody.Content["application/json"]; media != nil {
			shown.Request = r.named(media.Schema)
		}
	}

	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		response := docsResponse{Status: status, Description: op.Responses[status].Description}
		for kind, media := range op.Responses[status].Content {
			response.MediaType = kind
			if media.Schema != nil && media.Schema.Ref != "" {
				response.Schema = r.named(media.Schema)
			}
		}
		shown.Responses = append(shown.Responses, response)
	}

	shown.Example = r.command(op, shown.Request)
	return shown
}

// command is how one would call the operation from a shell.
func (r reader) command(op *huma.Operation, request *docsSchema) string {
	path := op.Path
	var lines []string
	for _, p := range op.Parameters {
		example := text(r.example(p.Schema))
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

	if request != nil {
		var compact bytes.Buffer
		_ = json.Compact(&compact, []byte(request.Example)) // it was written by json a moment ago
		lines = append(lines, "-H 'Content-Type: application/json'", "-d '"+compact.String()+"'")
	}

	method := ""
	if op.Method != http.MethodGet {
		method = " -X " + op.Method
	}
	return strings.Join(append([]string{"curl" + method + ` "$API` + path + `"`}, lines...), " \\\n  ")
}

// codeSpans shows `code` in a text as code.
func codeSpans(text string) template.HTML {
	parts := strings.Split(template.HTMLEscapeString(text), "`")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = "<code>" + parts[i] + "</code>"
	}
	return template.HTML(strings.Join(parts, "")) // escaped above
}

package site

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"

	"stagecoach/api/client"
	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
)

//go:embed templates/*.html
var shared embed.FS

// drawings are the templates of all pages in one language, by page name.
type drawings map[string]*template.Template

// parse parses the templates of all parts, and checks that each text they use exists.
func (s *Site) parse() error {
	for _, part := range s.parts {
		if err := s.checkTexts(part.Templates); err != nil {
			return err
		}
	}

	s.drawn = map[string]drawings{}
	for _, language := range []string{words.English, words.Russian} {
		base, err := template.New("").Funcs(s.functions(language)).ParseFS(
			shared, "templates/layout.html", "templates/pieces.html",
		)
		if err != nil {
			return err
		}

		for _, part := range s.parts {
			if err := parsePieces(base, part); err != nil {
				return err
			}
		}

		s.drawn[language] = drawings{}
		for _, part := range s.parts {
			if err := s.parsePart(language, base, part); err != nil {
				return err
			}
		}
	}

	return nil
}

func (s *Site) parsePart(language string, base *template.Template, part Part) error {
	names, err := fs.Glob(part.Templates, "templates/*.html")
	if err != nil {
		return err
	}

	for _, name := range names {
		page := strings.TrimSuffix(path.Base(name), ".html")
		if page == "layout" || page == "pieces" || page == "card" {
			continue
		}

		drawn, err := template.Must(base.Clone()).ParseFS(part.Templates, name)
		if err != nil {
			return err
		}

		s.drawn[language][page] = drawn
	}

	return nil
}

// textKey is a constant key of a text in a template.
var textKey = regexp.MustCompile(`\bt "([^"]+)"`)

// checkTexts checks that the texts used by a part's templates exist.
func (s *Site) checkTexts(templates fs.FS) error {
	names, err := fs.Glob(templates, "templates/*.html")
	missing := []error{err}
	for _, name := range names {
		source, err := fs.ReadFile(templates, name)
		missing = append(missing, err)
		for _, used := range textKey.FindAllSubmatch(source, -1) {
			if _, known := s.texts[string(used[1])]; !known {
				missing = append(missing, fmt.Errorf("%s: there is no text %q", name, used[1]))
			}
		}
	}
	return errors.Join(missing...)
}

// frame is what the layout shows: the page and what surrounds it.
type frame struct {
	View
	Page     Page
	Request  *Request
	Problem  *Problem
	Sections []shownSection
	Language string
	Signed   bool
	Temporal string
	Library  bool
	Version  string
	Place    string // position in the record's events: the page includes what happened before it
}

type shownSection struct {
	Section
	Current bool
}

// draw responds with a page.
func (s *Site) draw(w http.ResponseWriter, r *Request, page Page, view View, status int) {
	if view.Title == "" {
		view.Title = s.texts[page.Title].In(r.Language)
	}

	var html bytes.Buffer
	err := s.drawn[r.Language][page.Name].ExecuteTemplate(&html, "layout", frame{
		View: view, Page: page, Request: r, Problem: r.Problem, Sections: s.sections(r), Language: r.Language,
		Signed: r.Session.ID != 0, Temporal: s.Temporal, Library: s.Library, Version: s.API.Version, Place: r.place,
	})
	if err != nil {
		s.log().Error("a page cannot be drawn", "page", page.Name, "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}

	content := html.Bytes()
	if packsPage(r.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		content = server.Pack(content)
	}

	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(content) // an error means that the browser has disconnected
}

// sections are one person's menu entries.
func (s *Site) sections(r *Request) (shown []shownSection) {
	if r.Session.ID == 0 {
		return nil
	}

	for _, part := range s.parts {
		for _, section := range part.Sections {
			if section.Admins && !r.Admin() {
				continue
			}
			current := r.URL.Path == section.Path || section.Path != "/" && strings.HasPrefix(r.URL.Path, section.Path+"/")
			shown = append(shown, shownSection{section, current})
		}
	}

	return shown
}

// Problem is why something was refused, in the person's language.
type Problem struct {
	Status int
	Code   fault.Code
	Text   string
	Detail string             // the API's detail, which names numbers and fields
	Fields map[string]string  // what is wrong with a field, in the person's language, by field name
	Said   []shape.FieldError // the same in the API's words
}

// problemOf explains an error to a person. Errors that are not refusals are logged.
func (s *Site) problemOf(r *Request, err error) *Problem {
	p := &Problem{Status: http.StatusInternalServerError, Code: fault.Internal, Fields: map[string]string{}}
	var refusal *client.Refusal
	switch f := fault.As(err); {
	case errors.As(err, &refusal):
		p.Status, p.Code, p.Detail = refusal.Status, refusal.Code, refusal.Detail
		p.Said = refusal.Errors
		for _, field := range refusal.Errors {
			name := strings.TrimPrefix(field.Field, "body.")
			switch { // other codes have their own texts, but in a list people must know which field it is
			case refusal.Code == fault.Validation:
				p.Fields[name] = words.FieldRefusal(r.Language, field.Message)
			case strings.Contains(name, "["):
				p.Fields[name] = s.said.Faults.Text(p.Code).In(r.Language)
			}
		}
		if limit, _ := refusal.Details["limit"].(string); refusal.Code == fault.QuotaExceeded {
			if quota, known := s.said.Quotas[limit]; known {
				most, _ := refusal.Details["maximum"].(float64)
				p.Text = quota.In(r.Language, int64(most))
				return p
			}
		}
	case f != nil && s.API.Kinds[f.Code].Status != 0:
		p.Status, p.Code, p.Detail = s.API.Kinds[f.Code].Status, f.Code, f.Message
		if f.Code == fault.Validation { // the page has already said it in the person's language
			p.Fields[f.Field] = f.Message
		}
	default:
		s.log().Error("a page has failed", "error", err)
	}

	p.Text = s.said.Faults.Text(p.Code).In(r.Language)
	if p.Code == fault.Validation {
		p.Text = s.texts["invalid"].In(r.Language)
	}
	return p
}

// fail responds with a page that explains an error.
func (s *Site) fail(w http.ResponseWriter, r *Request, err error) {
	r.Problem = s.problemOf(r, err)
	s.drawProblem(w, r)
}

func (s *Site) drawProblem(w http.ResponseWriter, r *Request) {
	s.draw(w, r, Page{Name: "problem", Title: "problem"}, View{}, r.Problem.Status)
}

// parsePieces adds what several pages of a part use: its card, and its pieces.
func parsePieces(base *template.Template, part Part) error {
	for _, name := range []string{"templates/card.html", "templates/pieces.html"} {
		if _, err := fs.Stat(part.Templates, name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, err := base.ParseFS(part.Templates, name); err != nil {
			return err
		}
	}
	return nil
}

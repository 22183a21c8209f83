package parts_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"stagecoach/api/parts"
)

// mostOfAPage is how many entities of one page are opened in search of forms: each state is among the first.
const mostOfAPage = 30

// paths are pages that belong to no part: the site adds them itself.
var paths = []string{"/", "/account", "/confirm"}

// tour is what a person finds by following each link from the pages that need no entity.
type tour struct {
	pages   map[string][]string // paths with queries, by page route
	actions map[string]form     // one form by action route
	texts   map[string]string   // by path
}

// form is a page's form, filled in.
type form struct {
	path   string
	page   string // the page that contains it
	fields url.Values
}

// routes are the patterns of all pages and actions of the parts.
func routes() (pages, actions []string) {
	for _, part := range parts.Web() {
		for _, page := range part.Pages {
			pages = append(pages, page.Route)
		}
		for _, action := range part.Actions {
			actions = append(actions, action.Route)
		}
	}
	return pages, actions
}

// adminsOnly reports whether a path belongs to a section for administrators.
func adminsOnly(path string) bool {
	for _, part := range parts.Web() {
		for _, section := range part.Sections {
			if section.Admins && (path == section.Path || strings.HasPrefix(path, section.Path+"/")) {
				return true
			}
		}
	}
	return false
}

// isOpen reports whether a path is that of a public page.
func isOpen(path string) bool {
	for _, part := range parts.Web() {
		for _, page := range part.Pages {
			if page.Open && matcher([]string{page.Route})(path) != "" {
				return true
			}
		}
	}
	return false
}

// matcher finds the route of a path.
func matcher(routes []string) func(path string) string {
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.HandleFunc(route, func(http.ResponseWriter, *http.Request) {})
	}
	return func(path string) string {
		at, err := url.Parse(path)
		if err != nil {
			return ""
		}
		_, pattern := mux.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: at.Path}})
		return pattern
	}
}

// tours are what the visitors of the tests found, by name: the records of all tests have the same rows, and so the same
// pages.
var tours struct {
	sync.Mutex
	of   map[string]tour
	hers map[string]bool
}

// tour is what a person finds.
func (r *rig) tour(name string) tour {
	r.Helper()
	tours.Lock()
	defer tours.Unlock()
	if _, made := tours.of[name]; !made {
		found := r.visit(r.url, name).look()
		if tours.of == nil {
			tours.of = map[string]tour{}
		}
		tours.of[name] = found
	}
	return tours.of[name]
}

// look opens everything that a visitor finds.
func (v *visitor) look() tour {
	v.Helper()
	pages, actions := routes()
	pageOf, actionOf := matcher(pages), matcher(actions)
	found := tour{pages: map[string][]string{}, actions: map[string]form{}, texts: map[string]string{}}

	todo, seen := slices.Clone(paths), map[string]bool{}
	for _, page := range pages {
		if !strings.Contains(page, "{") {
			todo = append(todo, page)
		}
	}

	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		route := pageOf(path)
		if seen[path] || len(found.pages[route]) >= mostOfAPage {
			continue
		}

		seen[path] = true
		got := v.get(path)
		if got.status != http.StatusOK {
			continue
		}

		found.texts[path] = got.text
		if route != "" {
			found.pages[route] = append(found.pages[route], path)
		}
		for _, one := range formsOf(path, got.text) {
			if route := actionOf(one.path); route != "" && found.actions[route].path == "" {
				found.actions[route] = one
			}
		}
		for _, link := range linksOf(path, got.text) {
			if pageOf(link) != "" {
				todo = append(todo, link)
			}
		}
	}

	return found
}

var (
	linked   = regexp.MustCompile(`(?:href|method="get" action)="([^"]*)"`)
	formed   = regexp.MustCompile(`(?s)<form([^>]*)>(.*?)</form>`)
	field    = regexp.MustCompile(`(?s)<(input|button|select|textarea)([^>]*)>`)
	option   = regexp.MustCompile(`(?s)<option([^>]*)>`)
	property = regexp.MustCompile(`([a-z_-]+)(?:="([^"]*)")?`)
)

// linksOf are the paths to which a page links.
func linksOf(page, text string) (links []string) {
	base, _ := url.Parse(page)
	for _, match := range linked.FindAllStringSubmatch(text, -1) {
		at, err := base.Parse(html.UnescapeString(match[1]))
		if err == nil && at.Host == "" && at.Scheme == "" {
			at.Fragment = ""
			links = append(links, at.String())
		}
	}
	return links
}

// formsOf are a page's forms that change something, filled in with something of each kind.
func formsOf(page, text string) (forms []form) {
	for _, match := range formed.FindAllStringSubmatch(text, -1) {
		head := properties(match[1])
		if !strings.EqualFold(head["method"], http.MethodPost) {
			continue
		}

		one := form{path: head["action"], page: page, fields: url.Values{}}
		if one.path == "" {
			one.path = page
		}
		for _, input := range field.FindAllStringSubmatchIndex(match[2], -1) {
			kind, all := match[2][input[2]:input[3]], properties(match[2][input[4]:input[5]])
			if all["name"] == "" || one.fields.Has(all["name"]) {
				continue
			}
			one.fields.Set(all["name"], valueOf(kind, all, match[2][input[1]:]))
		}
		forms = append(forms, one)
	}
	return forms
}

// valueOf is what a person enters into a field.
func valueOf(kind string, field map[string]string, after string) string {
	switch {
	case field["value"] != "":
		return field["value"]
	case kind == "select":
		inside, _, _ := strings.Cut(after, "</select>")
		for _, one := range option.FindAllStringSubmatch(inside, -1) {
			if value := properties(one[1])["value"]; value != "" {
				return value
			}
		}
		return ""
	case kind == "textarea":
		inside, _, _ := strings.Cut(after, "</textarea>")
		if inside = strings.TrimSpace(html.UnescapeString(inside)); inside != "" {
			return inside
		}
		return "some words"
	case field["type"] == "number" || field["inputmode"] == "numeric":
		return "77"
	case strings.Contains(field["name"], "url"):
		return "magnet:?xt=urn:btih:" + strings.Repeat("1a", 20)
	case field["type"] == "checkbox":
		return "on"
	}
	return "some words"
}

func properties(text string) map[string]string {
	all := map[string]string{}
	for _, match := range property.FindAllStringSubmatch(text, -1) {
		all[match[1]] = html.UnescapeString(match[2])
	}
	return all
}

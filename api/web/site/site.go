// Package site is what all pages share: who is signed in, how a page is drawn, and what every response carries.
//
// A page is a client of the HTTP API in its own process: it reads and changes everything through API requests, as the
// user who is signed in. So it has no rules, queries or access checks of its own, and shows what the API responds.
package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"stagecoach/api/client"
	"stagecoach/api/rest/server"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// Config is what the pages need. Fields with a default are optional.
type Config struct {
	API      *server.Server // with all operations registered
	Store    Store
	Life     time.Duration // of a session; default: a week
	Events   Events        // nil: pages are not live
	Provider *Provider     // with which people may sign in; nil: none
	Temporal string        // URL of the namespace's workflows in Temporal's Web UI; empty: no links to it
	Library  bool          // there is a library folder, whose files can be sent to chats
}

// Events is the process's reader of events.
type Events interface {
	Place() *core.Cursor // how far events were read; nil: none yet
}

// Store has the methods of the record that the pages call directly: those of sessions.
type Store interface {
	SpendLink(ctx context.Context, link, secret string, life time.Duration) (account.User, error)
	StartSession(ctx context.Context, t account.Token, secret string, life time.Duration) error
	SessionOf(ctx context.Context, secret string) (account.User, account.Session, error)
	Sessions(ctx context.Context, userID int64) ([]account.Session, error)
	EndSession(ctx context.Context, userID, id int64) error
	ConfirmSession(ctx context.Context, userID, id int64) error
	AskConfirmation(ctx context.Context, userID, id int64) (code string, err error)
	UserOfIdentity(ctx context.Context, i account.Identity) (account.User, error)
	AddIdentity(ctx context.Context, i account.Identity, newcomer account.User) (user account.User, created bool, err error)
	SignInIdentity(ctx context.Context, i account.Identity, secret string, life time.Duration) error
	SealAttempt(attempt []byte) []byte
	OpenAttempt(sealed []byte) ([]byte, error)
}

// Part is what one subject adds to the pages.
type Part struct {
	Sections  []Section
	Templates fs.FS // NAME.html of each page, which defines "content"; pieces.html has what several pages use
	Texts     words.Catalog
	Words     words.Texts                      // for its faults
	States    map[string]map[string]words.Text // names of states, by workload
	Commands  map[string]string                // pages that do what the bot's commands do, by command
	Pages     []Page
	Actions   []Action
	// the home page's card in its first section; nil: none
	Card func(r *Request) (Card, error)
}

// Card is a part's contribution to the home page.
type Card struct {
	Needs []Need // what waits for this person, most urgent first; at most five
	Data  any    // for the template "card-TITLE" in the part's card.html
}

// Need is something that waits for a person.
type Need struct {
	Text string     // in the person's language
	Path string     // of the page on which to do it
	Due  *time.Time // deadline; nil: none
}

// Section is an entry of the menu.
type Section struct {
	Path   string
	Title  string // the key of its text
	Admins bool   // shown to administrators only
}

// Names returns the names of a workload's states.
func Names[S ~string](states map[S]words.Text) map[string]words.Text {
	named := make(map[string]words.Text, len(states))
	for state, name := range states {
		named[string(state)] = name
	}
	return named
}

// Page is a page that can be opened.
type Page struct {
	Route string // its path, as a net/http pattern
	Name  string // of its template
	Title string // key of its title, unless its view has one
	Live  string // workloads whose events change it, separated by spaces; empty: none
	Open  bool   // public to everybody who knows its URL, without a session; it is never live
	Tabs  []Tab  // related pages, in a row above the content
	Form  string // the page whose form leads here by GET; empty: its own form, if any
	Tab   string // path of the tab above this page; empty: its own, if it is a tab
	// filter of a list; the template "filter" draws it
	Filter Filter
	Show   func(r *Request) (View, error)
}

// Tab leads to one of several related pages.
type Tab struct {
	Title string // the key of its text
	Path  string
}

// Filter restricts a list by one parameter of its URL. The names of the values are those of a workload's states, or
// texts whose keys end with a value.
type Filter struct {
	Name   string
	Values []string
	States string // the workload
	Texts  string // prefix of the keys
}

// View is what a page shows.
type View struct {
	Title   string
	Data    any
	Refresh time.Duration // after which a browser reloads the page; 0: never
}

// Action is what a form of a page does. It redirects to the page next. After a refusal, its own page is shown again
// with the reason; if next is empty, its own page shows what was created.
type Action struct {
	Route string // its path
	Page  string // name of the page with the form
	Form  int64  // maximum size of its form in bytes; 0: server.FormBody
	Do    func(r *Request) (next string, err error)
}

// Site serves the pages.
type Site struct {
	Config
	api      *client.Client // reaches the API in this process
	parts    []Part
	pages    map[string]Page
	texts    words.Catalog
	states   map[string]map[string]words.Text
	said     words.Texts
	commands map[string]string
	drawn    map[string]drawings // by language
	origins  *http.CrossOriginProtection
}

const week = 7 * 24 * time.Hour

// Register adds the pages to the API's server.
func Register(c Config, parts ...Part) error {
	c.Life = cmp.Or(c.Life, week)
	s := &Site{
		Config: c, pages: map[string]Page{}, texts: words.Catalog{}, states: map[string]map[string]words.Text{},
		commands: map[string]string{}, said: words.NewTexts(words.Common), origins: http.NewCrossOriginProtection(),
		api: &client.Client{HTTP: &http.Client{Transport: server.InProcess{Handler: c.API}}},
	}
	if c.API.PublicURL != "" {
		if err := s.origins.AddTrustedOrigin(c.API.PublicURL); err != nil {
			return err
		}
	}

	s.parts = append([]Part{s.own()}, parts...)
	for _, part := range s.parts {
		for key, text := range part.Texts {
			if other, taken := s.texts[key]; taken && other != text {
				return fmt.Errorf("two parts of the pages have different texts %q", key)
			}
			s.texts[key] = text
		}
		maps.Copy(s.states, part.States)
		maps.Copy(s.commands, part.Commands)
		s.said.Add(part.Words)
	}
	maps.Copy(s.texts, providerTexts)

	if err := s.parse(); err != nil {
		return err
	}

	for _, part := range s.parts {
		s.route(part)
	}

	s.routeAssets()
	s.routeSessions()
	s.routeProvider()
	s.API.Mux.HandleFunc("GET /live", s.follow)
	s.API.Unrouted = s.missing
	return nil
}

func (s *Site) route(part Part) {
	for _, page := range part.Pages {
		s.pages[page.Name] = page
		show := func(w http.ResponseWriter, r *Request) { s.show(w, r, page) }
		handler := s.guard(server.FormBody, show)
		if page.Open {
			handler = s.welcome(show)
		}
		s.API.Mux.Handle("GET "+page.Route, handler)
	}

	for _, action := range part.Actions {
		act := func(w http.ResponseWriter, r *Request) { s.act(w, r, action) }
		s.API.Mux.Handle("POST "+action.Route, s.guard(cmp.Or(action.Form, server.FormBody), act))
	}
}

// show responds with a page. When the input of a form in its URL is refused, the page of the form is shown, with that
// input.
func (s *Site) show(w http.ResponseWriter, r *Request, page Page) {
	view, err := page.Show(r)
	if err == nil {
		if view.Refresh > 0 {
			w.Header().Set("Refresh", strconv.Itoa(int(math.Ceil(view.Refresh.Seconds()))))
		}
		s.draw(w, r, page, view, http.StatusOK)
		return
	}

	r.Problem = s.problemOf(r, err)
	if r.Problem.Code == fault.Validation && r.URL.RawQuery != "" && r.ParseForm() == nil {
		if page.Form != "" {
			page = s.pages[page.Form]
		}
		r.URL = &url.URL{Path: page.address(r).Path}
		if view, err := page.Show(r); err == nil {
			s.draw(w, r, page, view, r.Problem.Status)
			return
		}
	}
	s.drawProblem(w, r)
}

// act performs a form's action, and redirects to the next page. After a refusal it shows the form's page again, with
// the input. If the API requires a confirmed identity, it redirects to the page for that.
func (s *Site) act(w http.ResponseWriter, r *Request, action Action) {
	page, status := s.pages[action.Page], http.StatusOK
	next, err := action.Do(r)
	switch {
	case codeOf(err) == fault.ConfirmationRequired:
		http.Redirect(w, r.Request, "/confirm?next="+url.QueryEscape(back(r, page)), http.StatusSeeOther)
		return
	case err == nil && next != "":
		http.Redirect(w, r.Request, next, http.StatusSeeOther)
		return
	}

	if err != nil {
		r.Problem = s.problemOf(r, err)
		status = r.Problem.Status
	}

	r.URL = page.address(r)
	view, shown := page.Show(r)
	if shown != nil {
		s.fail(w, r, cmp.Or(err, shown))
		return
	}

	s.draw(w, r, page, view, status)
}

// codeOf is the code with which the API refused a request; empty: it did not.
func codeOf(err error) fault.Code {
	if refusal, ok := errors.AsType[*client.Refusal](err); ok {
		return refusal.Code
	}
	return ""
}

// pathPart matches a variable part of a route: {id}, or {$}, which is empty.
var pathPart = regexp.MustCompile(`\{[^}]+\}`)

// address is the URL of the page that shows the form of a refused request: the page links to itself with it, and a
// script reloads it.
func (p Page) address(r *Request) *url.URL {
	path := pathPart.ReplaceAllStringFunc(p.Route, func(part string) string { return r.PathValue(part[1 : len(part)-1]) })
	return &url.URL{Path: path, RawQuery: r.URL.RawQuery}
}

// back is the URL of the page that sent a form, to return to after a confirmation. After a refusal the page was shown
// at the form's URL, which cannot be opened.
func back(r *Request, page Page) string {
	at := page.address(r)
	from, err := url.Parse(r.Referer())
	if err != nil || from.Path != at.Path {
		return at.RequestURI()
	}
	return from.RequestURI()
}

func (s *Site) log() *slog.Logger { return s.API.Log }

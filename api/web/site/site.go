// Package site is what all pages share: who is signed in, how a page is drawn, and what every answer carries.
//
// A page is a client of the HTTP API in its own process: it reads and changes everything by requests to the API, as the
// user who is signed in. So it has no rule, no query and no check of rights of its own, and shows what the API answers.
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

// Config is what the pages need. What has a default may be left out.
type Config struct {
	API      *server.Server // with all operations
	Store    Store
	Life     time.Duration // of a session; default: a week
	Events   Events        // nil: pages are not live
	Provider *Provider     // with which people may sign in; nil: none
	Temporal string        // where Temporal's Web UI shows the workflows of the namespace; empty: no links to it
	Library  bool          // there is a library folder, whose files can be sent to chats
}

// Events is the process's reader of events.
type Events interface {
	Place() *core.Cursor // up to which events were read; nil: none were read yet
}

// Store holds the methods of the record that the pages call themselves: those of sessions.
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
}

// Part is what one subject adds to the pages.
type Part struct {
	Sections  []Section
	Templates fs.FS // NAME.html of each page, which defines "content"; what several pages use is in pieces.html
	Texts     words.Catalog
	Words     words.Texts                      // of its faults
	States    map[string]map[string]words.Text // names of states, by workload
	Commands  map[string]string                // the pages that do what the bot's commands do, by their names
	Pages     []Page
	Actions   []Action
	// what home shows of its first section; nil: nothing
	Card func(r *Request) (Card, error)
}

// Card is what home shows of a part.
type Card struct {
	Needs []Need // what waits for this person, the most urgent first; at most five
	Data  any    // for the template "card-TITLE", in card.html of the part
}

// Need is something that waits for a person.
type Need struct {
	Text string     // in the person's language
	Path string     // of the page on which it is done
	Due  *time.Time // by when; nil: no moment is set
}

// Section is an entry of the menu.
type Section struct {
	Path   string
	Title  string // the key of its text
	Admins bool   // shown to administrators only
}

// Names gives the names of a workload's states by the states' texts.
func Names[S ~string](states map[S]words.Text) map[string]words.Text {
	named := make(map[string]words.Text, len(states))
	for state, name := range states {
		named[string(state)] = name
	}
	return named
}

// Page is one page that can be opened.
type Page struct {
	Route string // its path, as net/http's patterns have it
	Name  string // of its template
	Title string // the key of its text, for a page whose view has no title
	Live  string // workloads whose events change it, with spaces; empty: none
	Open  bool   // for everybody who knows its address, also without a session; it is never live
	Tabs  []Tab  // the pages that belong together, in a line above the content
	Tab   string // the path of the tab that the page is below; empty: its own, if it is one of them
	// what a list may be filtered by; the template "filter" draws it
	Filter Filter
	Show   func(r *Request) (View, error)
}

// Tab leads to one of several pages that belong together.
type Tab struct {
	Title string // the key of its text
	Path  string
}

// Filter chooses what a list shows by one parameter of its address. The names of the values are those of states of a
// workload, or texts whose keys end with a value.
type Filter struct {
	Name   string
	Values []string
	States string // the workload
	Texts  string // the beginning of the keys
}

// View is what a page shows.
type View struct {
	Title   string
	Data    any
	Refresh time.Duration // after which a browser loads the page again; 0: never
}

// Action is something that a form of a page does. It leads to the page next. When it is refused, its own page is shown
// again with the reason; when next is empty, with what was made.
type Action struct {
	Route string // its path
	Page  string // the name of the page whose form it is
	Form  int64  // how many bytes its form has at most; 0: server.FormBody
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

// Register adds the pages to the server of the API.
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

// show answers with a page.
func (s *Site) show(w http.ResponseWriter, r *Request, page Page) {
	view, err := page.Show(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if view.Refresh > 0 {
		w.Header().Set("Refresh", strconv.Itoa(int(math.Ceil(view.Refresh.Seconds()))))
	}
	s.draw(w, r, page, view, http.StatusOK)
}

// act does what a form asks for, and leads to the next page. After a refusal it shows the form's page again, with what
// was typed. When the API asks again who it is, it leads to the page for that.
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

// codeOf is the code with which the API has refused a request; empty: it has not.
func codeOf(err error) fault.Code {
	if refusal, ok := errors.AsType[*client.Refusal](err); ok {
		return refusal.Code
	}
	return ""
}

// pathPart is a part of a route that differs between requests: {id}, or {$}, which is nothing.
var pathPart = regexp.MustCompile(`\{[^}]+\}`)

// address is that of the page on which the form of a refused request stands: what the page links to itself by, and what
// a script loads again.
func (p Page) address(r *Request) *url.URL {
	path := pathPart.ReplaceAllStringFunc(p.Route, func(part string) string { return r.PathValue(part[1 : len(part)-1]) })
	return &url.URL{Path: path, RawQuery: r.URL.RawQuery}
}

// back is the address of the page from which a form was sent, for after a confirmation. After a refusal the page stood at
// the address of the form, which cannot be opened.
func back(r *Request, page Page) string {
	at := page.address(r)
	from, err := url.Parse(r.Referer())
	if err != nil || from.Path != at.Path {
		return at.RequestURI()
	}
	return from.RequestURI()
}

func (s *Site) log() *slog.Logger { return s.API.Log }

package torznab

import (
	"cmp"
	"encoding/xml"
	"html"
	"math"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"stagecoach/internal/fault"
	"stagecoach/internal/torrent"
)

const (
	maxTitle = 300 // characters of a title
	maxName  = 100 // characters of an indexer's name
)

// document is any answer of an indexer: search results, or its capabilities.
type document struct {
	Channel string // its title
	Program string // the title of the server
}

// item is a release in the answer.
type item struct {
	Title, GUID, Link, Published, Size, Enclosure, Jackett, Prowlarr string

	attrs map[string]string // torznab:attr, and newznab:attr of older programs: the first of each used name
}

// usedAttrs are the names of attributes that are read.
var usedAttrs = []string{"infohash", "magneturl", "seeders", "size"}

var errAnswer = fault.New(fault.SourceRefused, "the answer of the indexer cannot be read")

// read reads an answer whose root element has this name, and calls each with its releases. Unreadable ones are left
// out; an answer with only unreadable ones is rejected.
func read(body []byte, name string, each func(item)) (answer document, err error) {
	r := &reader{}
	r.begin(mend(body))
	for {
		token, err := r.next()
		if err != nil {
			return document{}, errAnswer
		}
		root, begins := token.(xml.StartElement)
		switch {
		case !begins:
			continue
		case root.Name.Local == "error":
			code, _ := strconv.Atoi(attribute(root, "code"))
			return document{}, refusal(code)
		case root.Name.Local != name:
			return document{}, errAnswer
		}

		found := 0
		err = r.document(&answer, func(one item) { found++; each(one) })
		if err != nil && found == 0 {
			return document{}, errAnswer
		}
		return answer, nil
	}
}

// document reads the root element's content.
func (r *reader) document(answer *document, each func(item)) error {
	return r.children(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "server":
			answer.Program = attribute(e, "title")
			return r.skip()
		case "channel":
			return r.channel(answer, each)
		default:
			return r.skip()
		}
	})
}

// channel reads releases, continuing after an unreadable one.
func (r *reader) channel(answer *document, each func(item)) error {
	for depth := r.depth; ; {
		err := r.children(func(e xml.StartElement) error {
			switch e.Name.Local {
			case "title":
				return r.text(&answer.Channel)
			case "item":
				one, err := r.item()
				if err == nil {
					each(one)
				}
				return err
			default:
				return r.skip()
			}
		})
		if err == nil || err == errBounds || !r.resume("<item", depth) {
			return err
		}
	}
}

// item reads a release.
func (r *reader) item() (of item, err error) {
	of.attrs = map[string]string{}
	texts := map[string]*string{
		"title": &of.Title, "guid": &of.GUID, "link": &of.Link, "pubDate": &of.Published, "size": &of.Size,
		"jackettindexer": &of.Jackett, "prowlarrindexer": &of.Prowlarr,
	}

	err = r.children(func(e xml.StartElement) error {
		if text := texts[e.Name.Local]; text != nil {
			return r.text(text)
		}

		switch e.Name.Local {
		case "enclosure":
			of.Enclosure = attribute(e, "url")
		case "attr":
			name := strings.ToLower(attribute(e, "name"))
			if _, known := of.attrs[name]; !known && slices.Contains(usedAttrs, name) {
				of.attrs[name] = attribute(e, "value")
			}
		}
		return r.skip()
	})
	return of, err
}

// refusal is the error in an answer such as <error code="100" description="Invalid API Key"/>. Codes below 200 are
// about the key, 500 and 501 about too many requests. The description may contain anything.
func refusal(code int) error {
	switch {
	case code >= 100 && code < 200:
		return errKey
	case code == 500, code == 501, code == 429:
		return errBusy
	default:
		return fault.New(fault.SourceRefused, "the indexer answered with error %d", code)
	}
}

// release is a release according to an answer. One without a title or link cannot be downloaded.
func (c *Client) release(of item, from Indexer) Release {
	link, identity := c.link(of, from)
	named, _ := torrent.ParseSource("magnet:?xt=urn:btih:" + of.attrs["infohash"])
	r := Release{
		Title: c.line(of.Title, maxTitle), SourceURL: link,
		Indexer:  c.line(cmp.Or(of.Jackett, of.Prowlarr), maxName),
		Infohash: cmp.Or(identity.V1, identity.V2, named.V1),
	}

	at, err := mail.ParseDate(of.Published)
	if err == nil && at.Year() >= 1970 && at.UTC().Year() <= 9999 { // a later one has no form in JSON
		r.Published = at.UTC()
	}

	for _, size := range []string{of.Size, of.attrs["size"]} {
		if n := number(size); r.Size == 0 && n < 1<<50 {
			r.Size = max(0, n)
		}
	}
	if n := number(of.attrs["seeders"]); n >= 0 && n <= math.MaxInt32 {
		r.Seeders = new(int(n))
	}
	return r
}

// number reads digits, which may have blanks around and between them; -1: not a number.
func number(text string) int64 {
	n, err := strconv.ParseInt(strings.Join(strings.Fields(text), ""), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// link chooses a release's download link: the first usable one, and one relative to the indexer's address only if there
// is no other. A guid that is not a magnet link is the page about the release.
func (c *Client) link(of item, from Indexer) (string, torrent.Identity) {
	base, err := url.Parse(from.address())
	if err != nil {
		return "", torrent.Identity{}
	}

	relative := ""
	for i, link := range []string{of.attrs["magneturl"], of.Enclosure, of.Link, of.GUID} {
		link = torrent.Tidy(html.UnescapeString(link)) // some escape a link twice
		source, err := torrent.ParseSource(link)
		if err == nil && (source.Magnet || i < 3) {
			if link = from.seal(c.secrets.withoutKey(link)); link != "" {
				return link, source.Identity
			}
			continue
		}
		if to, err := url.Parse(link); err == nil && to.Scheme == "" && link != "" && i < 3 && relative == "" {
			relative = from.seal(c.secrets.withoutKey(base.ResolveReference(to).String()))
		}
	}
	return relative, torrent.Identity{}
}

// line turns an indexer's text into one line of up to most characters, without a key.
func (c *Client) line(text string, most int) string {
	text = html.UnescapeString(text) // many indexers escape a title twice
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)

	text = strings.Join(strings.Fields(text), " ")
	if c.secrets.in(text) {
		return "…"
	}
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return text
}

// best sorts the releases by seeders, descending, and leaves out duplicates of the same torrent.
func best(all []Release) []Release {
	slices.SortStableFunc(all, func(a, b Release) int { return cmp.Compare(weight(b), weight(a)) })

	known := map[string]bool{} // by infohash, and by link
	all = slices.DeleteFunc(all, func(r Release) bool {
		again := known[r.SourceURL] || r.Infohash != "" && known[r.Infohash]
		known[r.SourceURL], known[r.Infohash] = true, true
		return again
	})
	return all[:min(MaxFound, len(all))]
}

// weight orders releases: many do not report their seeders, and may have some.
func weight(r Release) float64 {
	if r.Seeders == nil {
		return 0.5
	}
	return float64(*r.Seeders)
}

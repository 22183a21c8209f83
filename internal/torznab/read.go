package torznab

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"html"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"stagecoach/internal/fault"
	"stagecoach/internal/torrent"
)

const (
	maxTitle = 300 // characters of a title
	maxName  = 100 // characters of an indexer's name
)

// document is any answer of an indexer: what a search has found, what it can do, or an error.
type document struct {
	XMLName xml.Name
	Channel string `xml:"channel>title"`
	Items   items  `xml:"channel>item"`
	Server  struct {
		Title string `xml:"title,attr"`
	} `xml:"server"`
	Code int `xml:"code,attr"` // of an error
}

// item is a release in the answer.
type item struct {
	Title     string `xml:"title"`
	GUID      string `xml:"guid"`
	Link      string `xml:"link"`
	Published string `xml:"pubDate"`
	Size      string `xml:"size"`
	Enclosure struct {
		URL string `xml:"url,attr"`
	} `xml:"enclosure"`
	Jackett  string `xml:"jackettindexer"`
	Prowlarr string `xml:"prowlarrindexer"`
	Attrs    []struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	} `xml:"attr"` // torznab:attr, and newznab:attr of older programs
}

func (i item) attr(name string) string {
	for _, a := range i.Attrs {
		if strings.EqualFold(a.Name, name) {
			return a.Value
		}
	}
	return ""
}

// items are the first releases in an answer: one of 8 MiB could have a million.
type items []item

// UnmarshalXML adds a release.
func (all *items) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	if len(*all) == maxReleases {
		return d.Skip()
	}
	var one item
	err := d.DecodeElement(&one, &start)
	*all = append(*all, one)
	return err
}

var errAnswer = fault.New(fault.SourceRefused, "the answer of the indexer cannot be read")

// read reads an answer whose first element has this name.
func read(body []byte, name string) (answer document, err error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Entity = xml.HTMLEntity // HTML's names of characters occur in descriptions and titles
	switch err := d.Decode(&answer); {
	case err == nil && answer.XMLName.Local == name:
		return answer, nil
	case err == nil && answer.XMLName.Local == "error":
		return document{}, refusal(answer.Code)
	default:
		return document{}, errAnswer
	}
}

// refusal is the error in an answer such as <error code="100" description="Invalid API Key"/>. Codes below 200 are about
// the key, 500 and 501 about too many requests. The description may hold anything.
func refusal(code int) error {
	switch {
	case code >= 100 && code < 200:
		return errKey
	case code == 500, code == 501, code == 429:
		return fault.New(fault.SourceUnavailable, "the indexer takes no more requests now").Retry()
	default:
		return fault.New(fault.SourceRefused, "the indexer answers with its error %d", code)
	}
}

// release is what an answer says of a release. One without a title or link cannot be downloaded.
func (c *Client) release(of item, indexer string) Release {
	link, identity := c.link(of)
	named, _ := torrent.ParseSource("magnet:?xt=urn:btih:" + of.attr("infohash"))
	r := Release{
		Title: c.line(of.Title, maxTitle), SourceURL: link,
		Indexer:   c.line(cmp.Or(of.Jackett, of.Prowlarr, indexer), maxName),
		Infohash:  cmp.Or(identity.V1, identity.V2, named.V1),
		Published: published(of.Published),
	}

	if n, err := strconv.ParseInt(cmp.Or(of.Size, of.attr("size")), 10, 64); err == nil && n > 0 && n < 1<<50 {
		r.Size = n
	}
	if n, err := strconv.ParseInt(of.attr("seeders"), 10, 32); err == nil && n >= 0 {
		r.Seeders = new(int(n))
	}
	return r
}

// link chooses where a release is downloaded from: the first link that can be used. A guid that is no magnet link is the
// page about the release.
func (c *Client) link(of item) (string, torrent.Identity) {
	for i, link := range []string{of.attr("magneturl"), of.Enclosure.URL, of.Link, of.GUID} {
		link = c.secrets.withoutKey(strings.TrimSpace(link))
		source, err := torrent.ParseSource(link)
		if err == nil && (source.Magnet || i < 3) {
			return link, source.Identity
		}
	}
	return "", torrent.Identity{}
}

// line makes a text of an indexer one line of at most most characters, without a key.
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

// published reads a date of RSS; zero: it is none.
func published(text string) time.Time {
	at, err := mail.ParseDate(text)
	if err != nil || at.Year() < 1970 || at.UTC().Year() > 9999 { // the latter has no form in JSON
		return time.Time{}
	}
	return at.UTC()
}

// best orders the releases, those with most seeders first, and leaves out those that are the same torrent again.
func best(all []Release) []Release {
	slices.SortStableFunc(all, func(a, b Release) int { return cmp.Compare(seeders(b), seeders(a)) })

	known := map[string]bool{} // by infohash, and by link
	all = slices.DeleteFunc(all, func(r Release) bool {
		again := known[r.SourceURL] || r.Infohash != "" && known[r.Infohash]
		known[r.SourceURL], known[r.Infohash] = true, true
		return again
	})
	return all[:min(MaxFound, len(all))]
}

func seeders(r Release) int {
	if r.Seeders == nil {
		return -1
	}
	return *r.Seeders
}

package torznab

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"html"
	"io"
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

// item is a release in the answer.
type item struct {
	Title     string `xml:"title"`
	GUID      string `xml:"guid"`
	Link      string `xml:"link"`
	Published string `xml:"pubDate"`
	Size      string `xml:"size"`
	Enclosure struct {
		URL    string `xml:"url,attr"`
		Length string `xml:"length,attr"`
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

var errAnswer = fault.New(fault.SourceRefused, "the answer of the indexer cannot be read")

// tokens reads an answer. HTML's names of characters occur in descriptions and titles.
func tokens(body []byte) *xml.Decoder {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Entity = xml.HTMLEntity
	return d
}

// root returns the first element of an answer; the error of one that says why there is no result.
func root(d *xml.Decoder) (xml.StartElement, error) {
	for {
		token, err := d.Token()
		if err != nil {
			return xml.StartElement{}, errAnswer
		}
		element, isElement := token.(xml.StartElement)
		switch {
		case !isElement:
		case element.Name.Local == "error":
			return element, refusal(element)
		default:
			return element, nil
		}
	}
}

// refusal is the error in an answer such as <error code="100" description="Invalid API Key"/>. Codes below 200 are about
// the key, 500 and 501 about too many requests. The description may hold anything.
func refusal(element xml.StartElement) error {
	code := 0
	for _, a := range element.Attr {
		if a.Name.Local == "code" {
			code, _ = strconv.Atoi(a.Value)
		}
	}

	switch {
	case code >= 100 && code < 200:
		return errKey
	case code == 500, code == 501, code == 429:
		return fault.New(fault.SourceUnavailable, "the indexer takes no more requests now").Retry()
	default:
		return fault.New(fault.SourceRefused, "the indexer answers with its error %d", code)
	}
}

// read returns the releases in an answer to a search.
func (c *Client) read(body []byte, of Indexer) (releases []Release, err error) {
	d := tokens(body)
	first, err := root(d)
	if err != nil {
		return nil, err
	}
	if first.Name.Local != "rss" {
		return nil, errAnswer
	}

	channel := ""
	for len(releases) < maxReleases {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, errAnswer
		}

		element, isElement := token.(xml.StartElement)
		switch {
		case !isElement:
		case element.Name.Local == "title" && channel == "":
			err = d.DecodeElement(&channel, &element)
		case element.Name.Local == "item":
			var one item
			if err = d.DecodeElement(&one, &element); err == nil {
				releases = c.add(releases, one, cmp.Or(channel, of.Name()))
			}
		}
		if err != nil {
			return nil, errAnswer
		}
	}
	return releases, nil
}

// add adds a release that can be downloaded.
func (c *Client) add(to []Release, one item, channel string) []Release {
	link, identity := c.link(one)
	title := c.line(one.Title, maxTitle)
	if link == "" || title == "" {
		return to
	}

	return append(to, Release{
		Title: title, SourceURL: link,
		Indexer:  cmp.Or(c.line(one.Jackett, maxName), c.line(one.Prowlarr, maxName), c.line(channel, maxName)),
		Size:     size(one.Size, one.attr("size"), one.Enclosure.Length),
		Seeders:  count(one.attr("seeders")),
		Peers:    count(one.attr("peers")),
		Infohash: cmp.Or(identity.V1, identity.V2, infohash(one.attr("infohash"))),

		Published: published(one.Published),
	})
}

// link chooses where a release is downloaded from: the first link that can be used, a magnet link before others. A guid
// that is no magnet link is the page about the release.
func (c *Client) link(one item) (string, torrent.Identity) {
	candidates := []string{one.attr("magneturl"), one.Enclosure.URL, one.Link, one.GUID}
	for _, link := range candidates {
		if source, err := torrent.ParseSource(strings.TrimSpace(link)); err == nil && source.Magnet && !c.secrets.in(link) {
			return strings.TrimSpace(link), source.Identity
		}
	}

	for _, link := range candidates[1:3] {
		if _, err := torrent.ParseSource(strings.TrimSpace(link)); err != nil {
			continue
		}
		if link = c.secrets.withoutKey(strings.TrimSpace(link)); link != "" {
			return link, torrent.Identity{}
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

// size is the first of the texts that is a size; 0: none is.
func size(texts ...string) int64 {
	for _, text := range texts {
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && n > 0 && n < 1<<50 {
			return n
		}
	}
	return 0
}

// count reads how many people share a release; nil: unknown.
func count(text string) *int {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil || n < 0 {
		return nil
	}
	return new(int(n))
}

// infohash is a valid infohash in lower-case hex; "" for any other text.
func infohash(text string) string {
	text = strings.TrimSpace(text)
	source, err := torrent.ParseSource("magnet:?xt=urn:btih:" + text)
	if err != nil {
		return ""
	}
	return source.V1
}

// published reads a date of RSS; zero: it is none.
func published(text string) time.Time {
	for _, layout := range []string{time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700"} {
		if at, err := time.Parse(layout, strings.TrimSpace(text)); err == nil && at.Year() >= 1970 && at.Year() < 10000 {
			return at.UTC()
		}
	}
	return time.Time{}
}

// best orders the releases, those with most seeders first, and merges those that are one torrent.
func best(all []Release) []Release {
	slices.SortStableFunc(all, func(a, b Release) int { return cmp.Compare(seeders(b), seeders(a)) })

	var merged []Release
	known := map[string]int{} // by infohash, and by link
	for _, r := range all {
		at, again := known[r.SourceURL]
		if byHash, found := known[r.Infohash]; found {
			at, again = byHash, true
		}
		if again { // the one with more seeders stays, with a magnet link of the other
			if strings.HasPrefix(r.SourceURL, "magnet:") && !strings.HasPrefix(merged[at].SourceURL, "magnet:") {
				merged[at].SourceURL = r.SourceURL
			}
			continue
		}

		if r.Infohash != "" {
			known[r.Infohash] = len(merged)
		}
		known[r.SourceURL] = len(merged)
		merged = append(merged, r)
	}
	return merged[:min(MaxFound, len(merged))]
}

func seeders(r Release) int {
	if r.Seeders == nil {
		return -1
	}
	return *r.Seeders
}

// readCaps returns the name of the program in an answer to t=caps.
func (c *Client) readCaps(body []byte) (program string, err error) {
	d := tokens(body)
	first, err := root(d)
	if err != nil {
		return "", err
	}
	if first.Name.Local != "caps" {
		return "", errAnswer
	}

	for {
		token, err := d.Token()
		if err != nil {
			return "", nil // it does not say
		}
		element, isElement := token.(xml.StartElement)
		if !isElement || element.Name.Local != "server" {
			continue
		}
		for _, a := range element.Attr {
			if a.Name.Local == "title" {
				return c.line(a.Value, maxName), nil
			}
		}
	}
}

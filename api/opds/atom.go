package opds

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"stagecoach/internal/store/download"
)

// Media types of documents.
const (
	atom       = "application/atom+xml;profile=opds-catalog;kind=acquisition"
	openSearch = "application/opensearchdescription+xml"
)

// searchDescription tells apps how to search, relative to the URL that they use: behind a proxy the service may have
// another one.
const searchDescription = `<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
<ShortName>Stagecoach</ShortName><Description>Search the library</Description><InputEncoding>UTF-8</InputEncoding>
<Url type="` + atom + `" template="/opds/search?q={searchTerms}"/>
</OpenSearchDescription>`

type feed struct {
	XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Author  person   `xml:"author"`
	Links   []link   `xml:"link"`
	Entries entries  `xml:"entry"`
}

type entry struct {
	ID      string  `xml:"id"`
	Title   string  `xml:"title"`
	Author  *person `xml:"author,omitempty"`
	Updated string  `xml:"updated"`
	Links   []link  `xml:"link"`
}

type person struct {
	Name string `xml:"name"`
}

type link struct {
	Rel    string `xml:"rel,attr"`
	Href   string `xml:"href,attr"`
	Type   string `xml:"type,attr"`
	Title  string `xml:"title,attr,omitempty"`
	Length int64  `xml:"length,attr,omitempty"` // bytes
}

// entries are a page's entries, created while they are written: until there are no more, or the page is full. The first
// one is always written, so that paging makes progress.
type entries struct {
	n    int
	at   func(i int) entry
	more bool                  // there are more after the first n
	next func(last int) string // URL of the page that follows an entry
	full func() bool
}

// MarshalXML implements xml.Marshaler. The link to the next page comes last: only then is its start known.
func (es entries) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	written := 0
	for written < es.n && (written == 0 || !es.full()) {
		if err := e.EncodeElement(es.at(written), start); err != nil {
			return err
		}
		if err := e.Flush(); err != nil {
			return err
		}
		written++
	}
	if written == es.n && !es.more {
		return nil
	}

	next := link{Rel: "next", Href: es.next(written - 1), Type: atom}
	return e.EncodeElement(next, xml.StartElement{Name: xml.Name{Local: "link"}})
}

func newFeed(id, title, self string, updated time.Time, of entries) feed {
	return feed{
		ID: id, Title: title, Updated: stamp(updated), Author: person{"Stagecoach"}, Entries: of,
		Links: []link{
			{Rel: "self", Href: self, Type: atom},
			{Rel: "start", Href: "/opds", Type: atom},
			{Rel: "search", Href: "/opds/search.xml", Type: openSearch},
		},
	}
}

// pageAfter is the URL of the page after an item of this one.
func pageAfter(page *url.URL, parameter, last string) string {
	query := page.Query()
	query.Set(parameter, last)
	return page.Path + "?" + query.Encode()
}

// entryOf shows a book with a link to each of its files, or, if there are many, to the feed of its files. An app that
// finds files in an entry offers only those, so an entry has all of them or none.
func entryOf(book download.Book, files []download.MediumFile) entry {
	e := entry{ID: bookID(book.ID), Title: book.Title, Author: authorOf(book), Updated: stamp(book.UpdatedAt)}
	if isLarge(book) {
		e.Links = []link{{Rel: "subsection", Href: fmt.Sprintf("/opds/books/%d", book.ID), Type: atom}}
		return e
	}

	for _, file := range files {
		e.Links = append(e.Links, linkTo(file))
	}
	return e
}

// entryOfFile shows one file of a book.
func entryOfFile(book download.Book, file download.MediumFile) entry {
	return entry{
		ID:    fmt.Sprintf("%s:%s:%d", bookID(book.ID), file.MediaType, file.Place),
		Title: path.Base(file.Path), Author: authorOf(book), Updated: stamp(book.UpdatedAt), Links: []link{linkTo(file)},
	}
}

// isLarge reports whether a book has more files than its entry shows.
func isLarge(book download.Book) bool {
	return book.FilesOf(download.MediaText)+book.FilesOf(download.MediaAudio) > linksPerEntry
}

func bookID(id int64) string { return fmt.Sprintf("urn:stagecoach:book:%d", id) }

func authorOf(book download.Book) *person {
	if book.Author == "" {
		return nil
	}
	return &person{book.Author}
}

func linkTo(file download.MediumFile) link {
	name := path.Base(file.Path)
	return link{
		Rel: "http://opds-spec.org/acquisition", Type: typeOf(name), Title: name, Length: file.Size,
		Href: fmt.Sprintf("/opds/books/%d/%s/%d/%s", file.BookID, file.MediaType, file.Place, url.PathEscape(name)),
	}
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// types are the media types of books' files.
var types = map[string]string{
	".epub": "application/epub+zip", ".kepub": "application/epub+zip", ".pdf": "application/pdf", ".txt": "text/plain", ".rtf": "application/rtf",
	".fb2": "application/x-fictionbook+xml", ".djvu": "image/vnd.djvu", ".html": "text/html", ".htm": "text/html",
	".doc": "application/msword", ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".odt":  "application/vnd.oasis.opendocument.text",
	".mobi": "application/x-mobipocket-ebook", ".prc": "application/x-mobipocket-ebook",
	".azw": "application/vnd.amazon.ebook", ".azw3": "application/vnd.amazon.mobi8-ebook",
	".cbz": "application/vnd.comicbook+zip", ".cbr": "application/vnd.comicbook-rar", ".zip": "application/zip",
	".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".m4b": "audio/mp4", ".aac": "audio/aac", ".flac": "audio/flac",
	".ogg": "audio/ogg", ".opus": "audio/ogg", ".wav": "audio/wav",
}

// typeOf returns the media type of a file by its name.
func typeOf(name string) string {
	name = strings.ToLower(name)
	if strings.HasSuffix(name, ".fb2.zip") || strings.HasSuffix(name, ".fbz") {
		return "application/x-zip-compressed-fb2"
	}
	return cmp.Or(types[path.Ext(name)], "application/octet-stream")
}

// sniffed is how many bytes of a text are used to detect its charset.
const sniffed = 1 << 20

// contentType returns the media type of a file, with the charset of Unicode text. Apps guess other charsets, as they do
// for local files.
func contentType(name string, file io.ReaderAt) (string, error) {
	kind := typeOf(name)
	if kind != types[".txt"] {
		return kind, nil
	}

	begin := make([]byte, sniffed)
	n, err := file.ReadAt(begin, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	begin = begin[:n]
	switch {
	case bytes.HasPrefix(begin, []byte("\xff\xfe")), bytes.HasPrefix(begin, []byte("\xfe\xff")):
		return kind + "; charset=utf-16", nil
	case isUTF8(begin, err == io.EOF):
		return kind + "; charset=utf-8", nil
	default:
		return kind, nil
	}
}

// isUTF8 reports whether a text is UTF-8; its last character may be cut off.
func isUTF8(text []byte, whole bool) bool {
	for cut := 0; !whole && cut < utf8.UTFMax && cut < len(text); cut++ {
		if utf8.Valid(text[:len(text)-cut]) {
			return true
		}
	}
	return utf8.Valid(text)
}

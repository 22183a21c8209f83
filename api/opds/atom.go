package opds

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"stagecoach/internal/store/download"
)

// Types of documents.
const (
	atom       = "application/atom+xml;profile=opds-catalog;kind=acquisition"
	openSearch = "application/opensearchdescription+xml"
)

// searchDescription tells apps how to search, at the service's address.
const searchDescription = `<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
<ShortName>Stagecoach</ShortName><Description>Search the library</Description><InputEncoding>UTF-8</InputEncoding>
<Url type="` + atom + `" template="%s/opds/search?q={searchTerms}"/>
</OpenSearchDescription>`

type feed struct {
	XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Author  person   `xml:"author"`
	Links   []link   `xml:"link"`
	Entries []entry  `xml:"entry"`
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

func newFeed(title, self string, entries []entry) feed {
	updated := stamp(time.Now())
	if len(entries) > 0 {
		updated = entries[0].Updated
	}
	return feed{
		ID: "urn:stagecoach:opds", Title: title, Updated: updated, Author: person{"Stagecoach"}, Entries: entries,
		Links: []link{
			{Rel: "self", Href: self, Type: atom},
			{Rel: "start", Href: "/opds", Type: atom},
			{Rel: "search", Href: "/opds/search.xml", Type: openSearch},
		},
	}
}

// pageAfter is the address of the next page of books.
func pageAfter(page *url.URL, book int64) string {
	query := page.Query()
	query.Set("before", strconv.FormatInt(book, 10))
	return page.Path + "?" + query.Encode()
}

// entryOf shows a book with a link to each of its files.
func entryOf(book download.Book, files []download.LibraryFile) entry {
	e := entry{ID: fmt.Sprintf("urn:stagecoach:book:%d", book.ID), Title: book.Title, Updated: stamp(book.UpdatedAt)}
	if book.Author != "" {
		e.Author = &person{book.Author}
	}

	for _, file := range files {
		name := path.Base(file.Path)
		e.Links = append(e.Links, link{
			Rel: "http://opds-spec.org/acquisition", Type: typeOf(name), Title: name, Length: file.Size,
			Href: fmt.Sprintf("/opds/books/%d/%s/%d/%s", file.BookID, file.MediaType, file.Place, url.PathEscape(name)),
		})
	}
	return e
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// types are those of books' files. Others, such as pages that a browser would run, are given as plain bytes.
var types = map[string]string{
	".epub": "application/epub+zip", ".pdf": "application/pdf", ".txt": "text/plain; charset=utf-8", ".rtf": "application/rtf",
	".fb2": "application/x-fictionbook+xml", ".djvu": "image/vnd.djvu",
	".mobi": "application/x-mobipocket-ebook", ".azw3": "application/vnd.amazon.mobi8-ebook",
	".cbz": "application/vnd.comicbook+zip", ".cbr": "application/vnd.comicbook-rar", ".zip": "application/zip",
	".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".m4b": "audio/mp4", ".aac": "audio/aac", ".flac": "audio/flac",
	".ogg": "audio/ogg", ".opus": "audio/ogg", ".wav": "audio/wav",
}

// typeOf gives the type of a file by its name.
func typeOf(name string) string {
	name = strings.ToLower(name)
	if strings.HasSuffix(name, ".fb2.zip") {
		return "application/x-zip-compressed-fb2"
	}
	return cmp.Or(types[path.Ext(name)], "application/octet-stream")
}

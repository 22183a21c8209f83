package torznab

import (
	"bytes"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/encoding/htmlindex"
)

// Limits of an answer, besides its bytes: memory depends on elements and attributes, a few bytes of which may take
// hundreds.
const (
	maxDepth  = 20        // of nested elements: those of an item are at depth 4
	maxTokens = 200_000   // elements, their ends, and texts: ten times those of 500 results
	maxToken  = 256 << 10 // bytes of one, such as an element with its attributes, or a description
	maxText   = 16 << 10  // bytes of a stored text; more is truncated
	resumed   = 100       // tokens charged for resuming after an error
)

// The errors of one release, and of all, that would take too much memory.
var (
	errTooLarge = errors.New("an element has no sensible form")
	errBounds   = errors.New("the answer has no sensible form")
)

// source reads an answer, at most left bytes until the next token.
type source struct {
	*bytes.Reader
	left int
}

// ReadByte makes the decoder read byte by byte, and so nothing beyond the token.
func (s *source) ReadByte() (byte, error) {
	if s.left--; s.left < 0 {
		return 0, errTooLarge
	}
	return s.Reader.ReadByte()
}

// reader reads an answer token by token.
type reader struct {
	body          []byte
	source        source
	xml           *xml.Decoder
	depth, tokens int
}

// escape matches character references, and ampersands that begin none.
var escape = regexp.MustCompile(`&(?:#\w{1,9};|[a-zA-Z]\w{1,31};)?`)

// literal begins and literalEnd ends text without escapes.
var literal, literalEnd = []byte("<![CDATA["), []byte("]]>")

// declared is the charset in an answer's first line.
var declared = regexp.MustCompile(`^\s*<\?xml[^>]*encoding=["']([\w.:-]+)["']`)

// mend turns indexers' answers into XML: in another charset, with characters or HTML entities that XML lacks, and with
// single ampersands.
func mend(body []byte) []byte {
	if label := declared.FindSubmatch(body[:min(len(body), 200)]); label != nil {
		if charset, err := htmlindex.Get(string(label[1])); err == nil {
			body, _ = charset.NewDecoder().Bytes(body) // bytes invalid in the charset are replaced
		}
	}

	body = bytes.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\uFFFE' || r == '\uFFFF' {
			return unicode.ReplacementChar
		}
		return r
	}, body)

	mended := make([]byte, 0, len(body))
	for len(body) > 0 {
		text, rest, more := bytes.Cut(body, literal)
		mended = append(mended, escape.ReplaceAllFunc(text, func(found []byte) []byte {
			var escaped bytes.Buffer
			_ = xml.EscapeText(&escaped, []byte(html.UnescapeString(string(found))))
			return escaped.Bytes()
		})...)
		if !more {
			break
		}
		end := len(rest) // if it has none, nothing after it is XML
		if at := bytes.Index(rest, literalEnd); at >= 0 {
			end = at + len(literalEnd)
		}
		mended = append(append(mended, literal...), rest[:end]...)
		body = rest[end:]
	}
	return mended
}

func (r *reader) begin(body []byte) {
	r.body, r.source = body, source{Reader: bytes.NewReader(body)}
	r.xml = xml.NewDecoder(&r.source)
	r.xml.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // mend has done it
}

// resume continues, after an error, where the next element may begin with this text; false: there is none.
func (r *reader) resume(begin string, depth int) bool {
	rest := r.body[len(r.body)-r.source.Len():]
	at := bytes.Index(rest, []byte(begin))
	if at < 0 {
		return false
	}
	r.begin(rest[at:])
	r.depth = depth
	r.tokens += resumed
	return true
}

func (r *reader) next() (xml.Token, error) {
	r.source.left = maxToken
	token, err := r.xml.Token()
	if err != nil {
		return nil, err
	}

	switch token.(type) {
	case xml.StartElement:
		r.depth++
	case xml.EndElement:
		r.depth--
	}
	switch r.tokens++; {
	case r.tokens > maxTokens:
		return nil, errBounds
	case r.depth > maxDepth:
		return nil, errTooLarge
	}
	return token, nil
}

// children calls each with the current element's children. each must read its element up to its end.
func (r *reader) children(each func(xml.StartElement) error) error {
	for {
		token, err := r.next()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if err := each(token); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

// skip reads up to the end of the current element.
func (r *reader) skip() error {
	for end := r.depth - 1; r.depth > end; {
		if _, err := r.next(); err != nil {
			return err
		}
	}
	return nil
}

// text reads the current element's text up to its end, without that of child elements.
func (r *reader) text(into *string) error {
	var text strings.Builder
	own := r.depth
	for r.depth >= own {
		token, err := r.next()
		if err != nil {
			return err
		}
		if data, is := token.(xml.CharData); is && r.depth == own {
			text.Write(data[:min(len(data), maxText-text.Len())])
		}
	}
	*into = text.String()
	return nil
}

// attribute is an element's attribute; "" if it has none of this name.
func attribute(of xml.StartElement, name string) string {
	for _, a := range of.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

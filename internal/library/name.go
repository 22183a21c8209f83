// Package library puts the files of books into the library folder: it names them by a template, chooses and checks what
// a torrent has, and links or copies it. Nothing that lies in the folder is overwritten, and nothing outside of the two
// folders is read or written.
package library

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// DefaultTemplate is the template of a library whose administrator has set none.
const DefaultTemplate = "{author}/{title}/{title}.{ext}"

const (
	maxName  = 180 // bytes of one name: file systems allow 255, and a number or a temporary name may be added
	maxDepth = 8   // elements of a template, and of a path in a torrent
	ending   = ".{ext}"
)

// Book is what a template is filled with.
type Book struct {
	ID            int64
	Title, Author string
	MediaType     string
}

// Template says where the files of a book lie in the library folder.
type Template struct{ elements []string }

// ParseTemplate reads a template: a relative path with slashes that may contain {author}, {title}, {medium} and {id},
// names a book by its title or id, and ends with .{ext}.
func ParseTemplate(text string) (Template, error) {
	if !strings.HasSuffix(text, ending) || strings.Count(text, "{ext}") > 1 {
		return Template{}, errors.New("must end with .{ext}, and have it nowhere else")
	}
	if !strings.Contains(text, "{title}") && !strings.Contains(text, "{id}") {
		return Template{}, errors.New("must contain {title} or {id}")
	}

	elements := strings.Split(strings.TrimSuffix(text, ending), "/")
	if len(elements) > maxDepth {
		return Template{}, fmt.Errorf("must be at most %d folders deep", maxDepth)
	}
	for _, element := range elements {
		plain := placeholders(Book{}).Replace(element)
		if element == "" || strings.ContainsAny(plain, "{}") || SafeName(element) != element {
			return Template{}, errors.New(
				"must be a relative path of names that all file systems allow, with {author}, {title}, {medium} or {id} in them",
			)
		}
	}
	return Template{elements}, nil
}

// Path returns where a book lies, without an ending: of its one file, or of the folder with its files. A number above 1
// is added for a place of the same name.
func (t Template) Path(b Book, number int) string {
	b.Author = cmp.Or(strings.TrimSpace(b.Author), "Unknown author")
	names := make([]string, len(t.elements))
	for i, element := range t.elements {
		names[i] = SafeName(placeholders(b).Replace(element))
	}
	if number > 1 {
		names[len(names)-1] += fmt.Sprintf(" (%d)", number)
	}
	return strings.Join(names, "/")
}

func placeholders(b Book) *strings.Replacer {
	return strings.NewReplacer(
		"{author}", b.Author, "{title}", b.Title, "{medium}", b.MediaType, "{id}", fmt.Sprint(b.ID),
	)
}

// device is a name that Windows gives to a device, with or without an ending.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com\d|lpt\d) *(\.|$)`)

// SafeName makes a text a name that Linux, macOS and Windows allow: one element of a path, not hidden, not empty, of at
// most 180 bytes.
func SafeName(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError || strings.ContainsRune(`/\:*?"<>|`, r):
			return '_'
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r): // the latter change how others are shown
			return -1
		default:
			return r
		}
	}, norm.NFC.String(text))

	text = strings.TrimLeft(strings.Join(strings.Fields(text), " "), ". ")
	text = strings.ToValidUTF8(text[:min(len(text), maxName)], "") // half a character at the end goes
	text = strings.TrimRight(text, ". ")
	if text == "" || device.MatchString(text) {
		return "_" + text
	}
	return text
}

var number = regexp.MustCompile(`\d+`)

// natural is a key by which texts are sorted as people do: numbers by their value, letters in any case, a folder before
// one whose name goes on.
func natural(file string) string {
	key := number.ReplaceAllStringFunc(strings.ToLower(file), func(digits string) string {
		digits = strings.TrimLeft(digits, "0")
		return fmt.Sprintf("%03d%s", len(digits), digits)
	})
	return strings.ReplaceAll(key, "/", "\x00")
}

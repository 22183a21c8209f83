// Package library puts books' files into the library folder: it names them by a template, selects and checks a
// torrent's files, and links or copies them. Nothing in the folder is overwritten, and nothing outside the two folders
// is read or written.
package library

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// DefaultTemplate is the template of a library whose administrator has set none.
const DefaultTemplate = "{author}/{title}/{title}.{ext}"

const (
	maxName  = 180 // bytes per name: file systems allow 255, and a number or a temporary name may be added
	maxDepth = 8   // elements of a template, and of a path in a torrent
	ending   = ".{ext}"
)

// Book holds the values for a template.
type Book struct {
	ID            int64
	Title, Author string
	MediaType     string
}

// Template is where a book's files go in the library folder.
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

// numbered is how many places of one name are tried before the job's own.
const numbered = 3

// Places returns where a job's copy of a book may go, the best place first, without an extension: of its one file, or
// of the folder with its files. The last two contain the job's id, inside and outside the template's folders, where no
// file can be in the way. No other book gets them, whatever its title: SafeName leaves no two spaces in a row.
func (t Template) Places(b Book, job int64) []string {
	b.Author = cmp.Or(strings.TrimSpace(b.Author), "Unknown author")
	names := make([]string, len(t.elements))
	for i, element := range t.elements {
		names[i] = SafeName(placeholders(b).Replace(element))
	}

	place := strings.Join(names, "/")
	places := []string{place}
	for number := 2; number <= numbered; number++ {
		places = append(places, fmt.Sprintf("%s (%d)", place, number))
	}
	own := fmt.Sprintf("  (%d)", job)
	return slices.Compact(append(places, place+own, names[len(names)-1]+own))
}

func placeholders(b Book) *strings.Replacer {
	return strings.NewReplacer(
		"{author}", b.Author, "{title}", b.Title, "{medium}", b.MediaType, "{id}", fmt.Sprint(b.ID),
	)
}

// device is a name that Windows reserves for a device, with or without an extension.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com\d|lpt\d) *(\.|$)`)

// SafeName turns a text into a name allowed by Linux, macOS and Windows: one path element, not hidden, not empty, of at
// most 180 bytes.
func SafeName(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError || strings.ContainsRune(`/\:*?"<>|`, r):
			return '_'
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r): // the latter change how others are displayed
			return -1
		default:
			return r
		}
	}, norm.NFC.String(text))

	text = strings.TrimLeft(strings.Join(strings.Fields(text), " "), ". ")
	text = strings.ToValidUTF8(text[:min(len(text), maxName)], "") // drops half a character at the end
	text = strings.TrimRight(text, ". ")
	if text == "" || device.MatchString(text) {
		return "_" + text
	}
	return text
}

var number = regexp.MustCompile(`\d+`)

// natural is a sort key for human order: numbers by value, letters in any case, a folder before one whose name
// continues.
func natural(file string) string {
	key := number.ReplaceAllStringFunc(strings.ToLower(file), func(digits string) string {
		digits = strings.TrimLeft(digits, "0")
		return fmt.Sprintf("%03d%s", len(digits), digits)
	})
	return strings.ReplaceAll(key, "/", "\x00")
}

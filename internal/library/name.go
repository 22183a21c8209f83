// Package library puts the files of books into the library folder: it names them by a template, chooses and checks what
// a torrent has, and links or copies it. Nothing that lies in the folder is overwritten, and nothing outside of the two
// folders is read or written.
package library

import (
	"errors"
	"fmt"
	"path"
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
	b.Author = strings.TrimSpace(b.Author)
	if b.Author == "" {
		b.Author = "Unknown author"
	}

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

// reserved are the names that Windows gives to devices.
var reserved = []string{"con", "prn", "aux", "nul", "com", "lpt"}

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

	name := strings.TrimRight(cut(strings.TrimLeft(strings.Join(strings.Fields(text), " "), ". "), maxName), ". ")
	stem, _, _ := strings.Cut(strings.ToLower(name), ".")
	stem = strings.TrimRight(stem, " ")
	if slices.Contains(reserved, strings.TrimRight(stem, "0123456789")) && len(stem) <= len("com0") {
		return "_" + name
	}
	if name == "" {
		return "_"
	}
	return name
}

// cut returns the beginning of a text, of whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// places names the files of one folder after their paths in a torrent, which are in reading order. The names are
// numbered where programs that sort by the alphabet would show another order, and where two are alike.
func places(paths []string, exts []string) []string {
	names := make([]string, len(paths))
	for i, file := range paths {
		stem := file[:len(file)-len(exts[i])-1]
		names[i] = SafeName(strings.ReplaceAll(stem, "/", " - "))
	}

	if !slices.IsSortedFunc(names, func(a, b string) int {
		if strings.EqualFold(a, b) { // not in order either
			return -1
		}
		return strings.Compare(strings.ToLower(a), strings.ToLower(b))
	}) {
		width := len(fmt.Sprint(len(names)))
		for i := range names {
			names[i] = fmt.Sprintf("%0*d %s", width, i+1, names[i])
		}
	}

	for i := range names {
		names[i] += "." + exts[i]
	}
	return names
}

// below takes the folder that all paths have in common off them.
func below(paths []string) []string {
	for common := path.Dir(paths[0]) + "/"; common != "./"; common = path.Dir(path.Dir(common)) + "/" {
		if !slices.ContainsFunc(paths, func(file string) bool { return !strings.HasPrefix(file, common) }) {
			short := slices.Clone(paths)
			for i := range short {
				short[i] = strings.TrimPrefix(short[i], common)
			}
			return short
		}
	}
	return paths
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

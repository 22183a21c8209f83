package library

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"stagecoach/internal/fault"
)

// Bounds of what is imported for one medium.
const (
	maxFiles = 2000
	maxBytes = 200 << 30
)

// File is one file of a torrent as listed by qBittorrent.
type File struct {
	Path string // with slashes, in the folder where the torrent is saved
	Size int64
}

// Chosen is a file to import.
type Chosen struct {
	File
	Name   string // in the folder of a medium with several files
	Format Format
}

// Format is a file format: its file extensions, and how its first bytes look.
type Format struct {
	Ext   string
	looks func(head []byte) bool
}

// headSize is how much of a file's beginning shows its format.
const headSize = 1024

// starts, at, and xml check a file's first bytes.
func starts(with ...string) func([]byte) bool { return at(0, with...) }

func at(offset int, texts ...string) func([]byte) bool {
	return func(head []byte) bool {
		return len(head) > offset && slices.ContainsFunc(texts, func(text string) bool {
			return bytes.HasPrefix(head[offset:], []byte(text))
		})
	}
}

// plain is text: a byte order mark, or no zero byte.
func plain(head []byte) bool {
	return starts("\xff\xfe", "\xfe\xff")(head) || len(head) > 0 && !bytes.Contains(head, []byte{0})
}

func xml(head []byte) bool {
	return starts("\xff\xfe<", "\xfe\xff\x00<")(head) || starts("<")(bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n"))
}

// sound is the beginning of an MP3 or AAC file: a tag or a frame.
func sound(head []byte) bool {
	return starts("ID3")(head) || len(head) > 1 && head[0] == 0xff && head[1]&0xe0 == 0xe0
}

var zip = starts("PK\x03\x04")

// formats are those of each medium, the ones readers prefer first.
var formats = map[string][]Format{
	"text": {
		{"epub", zip},
		{"kepub.epub", zip},
		{"kepub", zip},
		{"fb2", xml},
		{"fb2.zip", zip},
		{"fbz", zip},
		{"azw3", at(60, "BOOKMOBI")},
		{"mobi", at(60, "BOOKMOBI", "TEXtREAd")},
		{"azw", at(60, "BOOKMOBI", "TEXtREAd")},
		{"prc", at(60, "BOOKMOBI", "TEXtREAd")},
		{"pdf", func(head []byte) bool { return bytes.Contains(head, []byte("%PDF-")) }},
		{"djvu", starts("AT&TFORM")},
		{"djv", starts("AT&TFORM")},
		{"rtf", starts(`{\rtf`)},
		{"docx", zip},
		{"odt", zip},
		{"doc", starts("\xd0\xcf\x11\xe0", `{\rtf`)},
		{"cbz", zip},
		{"cbr", starts("Rar!", "PK\x03\x04")},
		{"html", plain},
		{"htm", plain},
		{"txt", plain},
	},
	"audio": {
		{"m4b", at(4, "ftyp")},
		{"mp3", sound},
		{"m4a", at(4, "ftyp")},
		{"mp4", at(4, "ftyp")},
		{"aac", sound},
		{"flac", starts("fLaC", "ID3")},
		{"ogg", starts("OggS")},
		{"oga", starts("OggS")},
		{"opus", starts("OggS")},
		{"wma", starts("\x30\x26\xb2\x75")},
		{"wav", starts("RIFF")},
	},
}

// formatOf returns a file's format by its name, the longest of several extensions deciding; -1: none of the medium's.
func formatOf(mediaType, file string) int {
	name, found := strings.ToLower(path.Base(file)), -1
	for i, format := range formats[mediaType] {
		stem, ends := strings.CutSuffix(name, "."+format.Ext)
		if ends && stem != "" && (found < 0 || len(format.Ext) > len(formats[mediaType][found].Ext)) {
			found = i
		}
	}
	return found
}

// isMedium reports whether a file belongs to some medium, by its name.
func isMedium(file string) bool {
	for medium := range formats {
		if formatOf(medium, file) >= 0 {
			return true
		}
	}
	return false
}

// Choose selects the files of a medium, in reading order: for an audiobook the format with the most bytes, for a text
// the one readers prefer, and in other formats the parts that this one lacks. left is how many files of the medium are
// left out although no chosen one has the same content. MEDIUM_UNSUITABLE: there is none.
func Choose(mediaType string, files []File) (chosen []Chosen, left int, err error) {
	content := contents(files)
	byFormat, bytesOf := make([][]Chosen, len(formats[mediaType])), make([]int64, len(formats[mediaType]))
	for _, file := range content {
		if i := formatOf(mediaType, file.Path); i >= 0 {
			byFormat[i] = append(byFormat[i], Chosen{File: file, Format: formats[mediaType][i]})
			bytesOf[i] += file.Size
		}
	}

	var order []int
	for i, group := range byFormat {
		if len(group) > 0 && !isNote(group, content) {
			order = append(order, i)
		}
	}
	if mediaType == "audio" {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(bytesOf[b], bytesOf[a]) })
	}
	for n, i := range order {
		if n == 0 {
			if chosen = byFormat[i]; len(chosen) > maxFiles {
				break
			}
		} else {
			chosen = append(chosen, partsOf(chosen, byFormat[i])...)
		}
	}

	var size int64
	for _, c := range chosen {
		size += c.Size
	}
	switch {
	case len(chosen) == 0:
		return nil, 0, fault.New(fault.MediumUnsuitable, "the torrent has no file of the medium")
	case len(chosen) > maxFiles || size > maxBytes:
		return nil, 0, fault.New(fault.MediumUnsuitable, "the medium has more than %d files or %d GiB", maxFiles, maxBytes>>30)
	}
	chosen, err = inOrder(chosen)
	return chosen, leftOut(mediaType, files, chosen), err
}

// leftOut counts a medium's files that are not chosen. A file also present in another format, and texts about the
// torrent, do not count.
func leftOut(mediaType string, files []File, chosen []Chosen) (left int) {
	have := map[string]bool{}
	work := func(file string) string {
		folder := strings.ToLower(path.Dir(file))
		if mediaType == "text" && formatOf(mediaType, "x."+path.Base(folder)) >= 0 { // such as epub/ beside pdf/
			folder = path.Dir(folder)
		}
		return folder + "/" + stem(file)
	}
	for _, c := range chosen {
		have[work(c.Path)] = true
	}
	for _, file := range files {
		missed := file.Size > 0 && formatOf(mediaType, file.Path) >= 0 && !isLitter(file.Path) && !have[work(file.Path)]
		if note := slices.Contains(notes, ext(file.Path)) && isExtra(file.Path); missed && !note {
			left++
		}
	}
	return left
}

// inOrder sorts files for reading and names them. The names are numbered if programs that sort alphabetically would
// show another order, or if two are alike.
func inOrder(chosen []Chosen) ([]Chosen, error) {
	slices.SortFunc(chosen, func(a, b Chosen) int {
		return cmp.Or(strings.Compare(natural(a.Path), natural(b.Path)), strings.Compare(a.Path, b.Path))
	})

	numbered, before := false, ""
	for i, c := range chosen {
		if !fs.ValidPath(c.Path) || strings.ContainsAny(c.Path, "\\\x00") || strings.Count(c.Path, "/") >= maxDepth {
			return nil, fault.New(fault.MediumUnsuitable, "a file of the torrent is outside its folder, or nested too deeply")
		}
		name := path.Base(c.Path)
		chosen[i].Name = SafeName(name[:len(name)-len(c.Format.Ext)-1]) + "." + c.Format.Ext
		sorted := strings.ToLower(chosen[i].Name)
		numbered, before = numbered || sorted <= before, sorted
	}

	for i, c := range chosen {
		if numbered {
			chosen[i].Name = fmt.Sprintf("%0*d %s", len(fmt.Sprint(len(chosen))), i+1, c.Name)
		}
	}
	return chosen, nil
}

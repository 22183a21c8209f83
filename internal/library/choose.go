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

// File is one file of a torrent as qBittorrent lists it.
type File struct {
	Path string // with slashes, in the folder where the torrent is saved
	Size int64
}

// Chosen is a file to import.
type Chosen struct {
	File
	Name   string // in the folder of a medium of several files
	Format Format
}

// Format is a format of files: how their names end, and what their first bytes look like.
type Format struct {
	Ext   string
	looks func(head []byte) bool
}

// headSize is how much of a file's beginning shows its format.
const headSize = 1024

// starts, at, and xml are looks at a file's first bytes.
func starts(with ...string) func([]byte) bool { return at(0, with...) }

func at(offset int, texts ...string) func([]byte) bool {
	return func(head []byte) bool {
		return len(head) > offset && slices.ContainsFunc(texts, func(text string) bool {
			return bytes.HasPrefix(head[offset:], []byte(text))
		})
	}
}

func has(text string) func([]byte) bool {
	return func(head []byte) bool { return bytes.Contains(head, []byte(text)) }
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

// formats are those of each medium, the ones that readers like best first.
var formats = map[string][]Format{
	"text": {
		{"epub", zip},
		{"fb2", xml},
		{"fb2.zip", zip},
		{"azw3", at(60, "BOOKMOBI")},
		{"mobi", at(60, "BOOKMOBI", "TEXtREAd")},
		{"azw", at(60, "BOOKMOBI", "TEXtREAd")},
		{"pdf", has("%PDF-")},
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

// formatOf finds the format of a file by its name; -1: it is none of the medium's.
func formatOf(mediaType, file string) int {
	name := strings.ToLower(path.Base(file))
	return slices.IndexFunc(formats[mediaType], func(format Format) bool {
		stem, ends := strings.CutSuffix(name, "."+format.Ext)
		return ends && stem != ""
	})
}

// Choose chooses the files of a medium, in reading order: of all its formats the one that has the most bytes of an
// audiobook, and the one that readers like best of a text. MEDIUM_UNSUITABLE: there is none.
func Choose(mediaType string, files []File) ([]Chosen, error) {
	byFormat, bytesOf := map[int][]Chosen{}, map[int]int64{}
	for _, file := range files {
		i := formatOf(mediaType, file.Path)
		if i < 0 || file.Size == 0 {
			continue
		}
		byFormat[i] = append(byFormat[i], Chosen{File: file, Format: formats[mediaType][i]})
		bytesOf[i] += file.Size
	}

	best := -1
	for i := range formats[mediaType] {
		if len(byFormat[i]) > 0 && (best < 0 || mediaType == "audio" && bytesOf[i] > bytesOf[best]) {
			best = i
		}
	}

	switch {
	case best < 0:
		return nil, fault.New(fault.MediumUnsuitable, "the torrent has no file of the medium")
	case len(byFormat[best]) > maxFiles || bytesOf[best] > maxBytes:
		return nil, fault.New(fault.MediumUnsuitable, "the medium has more than %d files or %d GiB", maxFiles, maxBytes>>30)
	}
	return inOrder(byFormat[best])
}

// inOrder sorts files for reading and names them. The names are numbered where programs that sort by the alphabet would
// show another order, or where two are alike.
func inOrder(chosen []Chosen) ([]Chosen, error) {
	slices.SortFunc(chosen, func(a, b Chosen) int {
		return cmp.Or(strings.Compare(natural(a.Path), natural(b.Path)), strings.Compare(a.Path, b.Path))
	})

	numbered, before := false, ""
	for i, c := range chosen {
		if !fs.ValidPath(c.Path) || strings.ContainsAny(c.Path, "\\\x00") || strings.Count(c.Path, "/") >= maxDepth {
			return nil, fault.New(fault.MediumUnsuitable, "a file of the torrent lies outside of its folder, or too deep in it")
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

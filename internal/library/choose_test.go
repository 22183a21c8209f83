package library

import (
	"fmt"
	"slices"
	"testing"

	"stagecoach/internal/fault"
)

// names are the chosen files: the path, and the name in a folder.
func names(chosen []Chosen) (names []string) {
	for _, c := range chosen {
		names = append(names, c.Path+" > "+c.Name)
	}
	return names
}

func filesOf(paths ...string) (files []File) {
	for i, path := range paths {
		files = append(files, File{path, int64(100 + i)})
	}
	return files
}

func TestChoose(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		medium string
		files  []File
		want   []string
	}{
		"the best of one text": {
			"text", filesOf("B/book.pdf", "B/book.EPUB", "B/readme.txt", "B/cover.jpg"), []string{"B/book.EPUB > book.epub"},
		},
		"an ending of two parts": {"text", filesOf("a.fb2.zip", "x.zip"), []string{"a.fb2.zip > a.fb2.zip"}},
		"chapters in their order, with numbers where the alphabet has another": {
			"audio", filesOf("B/10.mp3", "B/9.mp3", "B/1.mp3", "B/cover.jpg", "B/book.epub"),
			[]string{"B/1.mp3 > 1 1.mp3", "B/9.mp3 > 2 9.mp3", "B/10.mp3 > 3 10.mp3"},
		},
		"parts in folders": {
			"audio", filesOf("B/CD2/01.mp3", "B/CD1/02.mp3", "B/CD1/01.mp3"),
			[]string{"B/CD1/01.mp3 > 1 01.mp3", "B/CD1/02.mp3 > 2 02.mp3", "B/CD2/01.mp3 > 3 01.mp3"},
		},
		"names that become alike": {
			"audio", filesOf("a?.mp3", "A*.mp3"), []string{"A*.mp3 > 1 A_.mp3", "a?.mp3 > 2 a_.mp3"},
		},
		"the format with the most bytes": {
			"audio",
			[]File{{"a.m4b", 10}, {"1.mp3", 30}, {"2.mp3", 30}, {"empty.flac", 0}},
			[]string{"1.mp3 > 1.mp3", "2.mp3 > 2.mp3"},
		},
	} {
		chosen, _, err := Choose(c.medium, c.files)
		if got := names(chosen); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}

	many := make([]File, maxFiles+1)
	for i := range many {
		many[i] = File{fmt.Sprintf("%d.mp3", i), 1}
	}
	for name, files := range map[string][]File{
		"nothing":          nil,
		"another medium":   filesOf("a.epub"),
		"an ending alone":  filesOf(".mp3"),
		"above the folder": filesOf("../a.mp3"),
		"within and above": filesOf("a/../../b.mp3"),
		"from the root":    filesOf("/a.mp3"),
		"too deep":         filesOf("1/2/3/4/5/6/7/8/9.mp3"),
		"a backslash":      filesOf(`..\a.mp3`),
		"too many":         many,
		"too big":          {{"a.mp3", maxBytes + 1}},
	} {
		if _, _, err := Choose("audio", files); fault.CodeOf(err) != fault.MediumUnsuitable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLooks(t *testing.T) {
	t.Parallel()
	mobi := string(make([]byte, 60)) + "BOOKMOBI"
	for _, c := range []struct {
		medium, file, head string
		want               bool
	}{
		{"text", "a.epub", "PK\x03\x04", true},
		{"text", "a.epub", "<html>", false},
		{"text", "a.fb2", "\xef\xbb\xbf\n<?xml", true},
		{"text", "a.fb2", "PK\x03\x04", false},
		{"text", "a.pdf", "\n%PDF-1.4", true},
		{"text", "a.pdf", "MZ\x90", false},
		{"text", "a.mobi", mobi, true},
		{"text", "a.azw3", mobi, true},
		{"text", "a.mobi", "short", false},
		{"text", "a.djvu", "AT&TFORM", true},
		{"text", "a.txt", "plain", true},
		{"text", "a.txt", "MZ\x00\x90", false},
		{"text", "a.txt", "\xff\xfea\x00", true},
		{"audio", "a.mp3", "ID3\x04", true},
		{"audio", "a.mp3", "\xff\xfb\x90", true},
		{"audio", "a.mp3", "MZ\x90\x00", false},
		{"audio", "a.m4b", "\x00\x00\x00\x20ftypM4B ", true},
		{"audio", "a.flac", "fLaC", true},
		{"audio", "a.opus", "OggS", true},
		{"audio", "a.wav", "RIFF", true},
	} {
		format := formats[c.medium][formatOf(c.medium, c.file)]
		if got := format.looks([]byte(c.head)); got != c.want {
			t.Errorf("%s %q: %v", c.file, c.head, got)
		}
	}
}

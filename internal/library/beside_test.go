package library

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

// TestChooseFromRealTorrents has what torrents contain beside the medium, as "path size" per line; want are the chosen
// paths, empty: the torrent is unsuitable, and left is how many files are reported to the person as left out.
func TestChooseFromRealTorrents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		medium string
		files  []File
		want   []string
		left   int
	}{
		// what systems and clients leave
		"AppleDouble":            {"audio", []File{{"Track 01.mp3", 5e6}, {"._Track 01.mp3", 4096}}, []string{"Track 01.mp3"}, 0},
		"AppleDouble first":      {"audio", []File{{"B/._1.m4b", 4096}, {"B/1.m4b", 100}}, []string{"B/1.m4b"}, 0},
		"a Mac's archive":        {"text", []File{{"Book.epub", 3e5}, {"__MACOSX/._Book.epub", 4096}}, []string{"Book.epub"}, 0},
		"__MACOSX without dots":  {"text", []File{{"B/Book.epub", 3e5}, {"B/__MACOSX/Book.epub", 3e5}}, []string{"B/Book.epub"}, 0},
		"only AppleDouble":       {"text", []File{{"B/._Book.epub", 4096}}, nil, 0},
		"a Synology":             {"audio", []File{{"B/1.mp3", 5e6}, {"B/@eaDir/1.mp3/SYNOAUDIO.mp3", 300}, {"B/@eaDir/2.mp3", 9e6}}, []string{"B/1.mp3"}, 0},
		"a recycle bin":          {"text", []File{{"B/b.pdf", 5e6}, {"B/#recycle/a.pdf", 5e6}, {"B/$RECYCLE.BIN/c.pdf", 5e6}}, []string{"B/b.pdf"}, 0},
		"a hidden folder":        {"audio", []File{{"B/1.mp3", 5e6}, {"B/.Trash-1000/files/2.mp3", 5e6}}, []string{"B/1.mp3"}, 0},
		"a torrent with a dot":   {"audio", []File{{".hack/1.mp3", 5e6}}, []string{".hack/1.mp3"}, 0},
		"a folder with dots":     {"audio", []File{{"B/...And Ladies/01.mp3", 5e6}, {"B/...And Ladies/02.mp3", 5e6}}, []string{"B/...And Ladies/01.mp3", "B/...And Ladies/02.mp3"}, 0},
		"a work with a dot":      {"audio", []File{{"B/.hack/01.mp3", 5e6}, {"B/Emma/02.mp3", 5e6}}, []string{"B/.hack/01.mp3", "B/Emma/02.mp3"}, 0},
		"a title with dots":      {"text", []File{{"B/...And Ladies.epub", 5e5}}, []string{"B/...And Ladies.epub"}, 0},
		"Office's lock":          {"text", []File{{"B/~$Book.docx", 162}, {"B/Book.docx", 5e5}}, []string{"B/Book.docx"}, 0},
		"padding of BEP 47":      {"text", []File{{"B/Book.epub", 3e5}, {"B/.pad/7340032", 7 << 20}}, []string{"B/Book.epub"}, 0},
		"padding at the top":     {"text", []File{{"Short.epub", 900}, {".pad/7340032", 7 << 20}}, []string{"Short.epub"}, 0},
		"padding of BitComet":    {"text", []File{{"B/Short.epub", 900}, {"B/_____padding_file_0_if you see this file, please update____", 7 << 20}}, []string{"B/Short.epub"}, 0},
		"thumbnails, settings":   {"audio", []File{{"B/1.mp3", 5e6}, {"B/Thumbs.db", 9e6}, {"B/desktop.ini", 99}, {"B/.DS_Store", 6148}}, []string{"B/1.mp3"}, 0},
		"release notes":          {"text", []File{{"B/short.epub", 900}, {"B/short.nfo", 9e5}, {"B/short.sfv", 99}}, []string{"B/short.epub"}, 0},
		"unfinished files":       {"text", []File{{"B/a.epub.part", 9e6}, {"B/b.epub.!qB", 9e6}, {"B/c.epub", 3e5}}, []string{"B/c.epub"}, 0},
		"only an unfinished one": {"text", []File{{"B/b.epub.!qB", 9e6}}, nil, 0},

		// what is written about the content, and what is only a sample of it
		"an archive and an advert":     {"text", []File{{"Title.rar", 50000}, {"Torrent downloaded from x.txt", 49}}, nil, 0},
		"an archive and a large page":  {"text", []File{{"T/Title.zip", 5e6}, {"T/Visit our site.html", 60000}}, nil, 0},
		"an archive and a plain name":  {"text", []File{{"T/Title.7z", 5e6}, {"T/a.txt", 90}}, nil, 0},
		"a help file and its readme":   {"text", []File{{"Book.chm", 2e6}, {"readme.html", 900}}, nil, 0},
		"a small help file":            {"text", []File{{"Book.chm", 900}, {"readme.html", 800}}, nil, 0},
		"an unknown format, a licence": {"text", []File{{"B/Book.lit", 3e5}, {"B/LICENSE.txt", 1100}, {"B/cover.jpg", 1e6}}, nil, 0},
		"in Russian":                   {"text", []File{{"К/Книга.rar", 3e6}, {"К/Скачано с сайта.txt", 300}, {"К/Прочти меня.rtf", 300}}, nil, 0},
		"an address":                   {"text", []File{{"T/Title.rar", 900}, {"T/[www.books.example].txt", 300}}, nil, 0},
		"a film and its advert":        {"audio", []File{{"F/film.mkv", 7e8}, {"F/a.mp3", 900}}, nil, 0},
		"an archive and a sample":      {"audio", []File{{"B/book.rar", 3e8}, {"B/sample.mp3", 1e6}}, nil, 0},
		"a video beside notes":         {"text", []File{{"F/film.mkv", 7e8}, {"F/info.txt", 900}}, nil, 0},
		"a sampler of the best format": {"text", []File{{"Book.pdf", 4e5}, {"Extras/sampler.epub", 2000}}, []string{"Book.pdf"}, 1},
		"a large sampler":              {"text", []File{{"B/Book.pdf", 4e6}, {"B/Book - Sample.epub", 2e5}}, []string{"B/Book.pdf"}, 1},
		"a sampler of the same format": {"text", []File{{"B/Book.epub", 4e5}, {"B/Extras/other.epub", 2000}}, []string{"B/Book.epub"}, 1},
		"bytes of the best format":     {"text", []File{{"B/Book.pdf", 4e5}, {"B/leaflet.epub", 2000}}, []string{"B/Book.pdf"}, 1},
		"a sample beside an audiobook": {"audio", []File{{"B/1.mp3", 5e6}, {"B/2.mp3", 5e6}, {"B/Sample/1.mp3", 3e5}}, []string{"B/1.mp3", "B/2.mp3"}, 1},

		// what only resembles it
		"a scan and the text":     {"text", []File{{"B/Book.pdf", 2e8}, {"B/Book.epub", 6e5}}, []string{"B/Book.epub"}, 0},
		"a short text alone":      {"text", []File{{"readme.html", 900}}, []string{"readme.html"}, 0},
		"a page with pictures":    {"text", []File{{"B/index.html", 9000}, {"B/1.jpg", 9e6}, {"B/style.css", 9e4}}, []string{"B/index.html"}, 0},
		"a text beside its audio": {"text", []File{{"B/1.mp3", 9e7}, {"B/Book.txt", 4e5}}, []string{"B/Book.txt"}, 0},
		"a story beside itself":   {"text", []File{{"B/Story.mp3", 9e7}, {"B/Story.txt", 9000}}, []string{"B/Story.txt"}, 0},
		"a book and its programs": {"text", []File{{"B/Book.pdf", 4e6}, {"B/code.zip", 3e8}}, []string{"B/Book.pdf"}, 0},
		"a book named Sample":     {"text", []File{{"Samples/Sample.epub", 4e5}, {"Samples/a.txt", 90}}, []string{"Samples/Sample.epub"}, 0},
		"only extras":             {"audio", []File{{"B/Extras/1.mp3", 5e6}, {"B/Extras/2.mp3", 6e6}}, []string{"B/Extras/1.mp3", "B/Extras/2.mp3"}, 0},
		"a chapter named so":      {"audio", []File{{"B/1.mp3", 5e6}, {"B/2 - Sample.mp3", 4e6}}, []string{"B/1.mp3", "B/2 - Sample.mp3"}, 0},

		// parts in different formats
		"one container, two names":  {"audio", []File{{"Part 1.m4b", 9e6}, {"Part 2.m4a", 9e6}, {"Part 3.m4a", 9e6}}, []string{"Part 1.m4b", "Part 2.m4a", "Part 3.m4a"}, 0},
		"the first is the largest":  {"audio", []File{{"Part 1.m4b", 9e8}, {"Part 2.m4a", 9e6}, {"Part 3.mp4", 9e6}}, []string{"Part 1.m4b", "Part 2.m4a", "Part 3.mp4"}, 0},
		"discs":                     {"audio", []File{{"CD1/01.mp3", 9e6}, {"CD1/02.mp3", 9e6}, {"CD2/01.m4a", 9e6}, {"CD2/02.m4a", 8e6}}, []string{"CD1/01.mp3", "CD1/02.mp3", "CD2/01.m4a", "CD2/02.m4a"}, 0},
		"discs with titles":         {"audio", []File{{"B 2010/Disc 01/1 Intro.mp3", 9e6}, {"B 2010/Disc 2/1 End.flac", 9e7}, {"B 2010/Disc 3/x.ogg", 9e6}}, []string{"B 2010/Disc 01/1 Intro.mp3", "B 2010/Disc 2/1 End.flac", "B 2010/Disc 3/x.ogg"}, 0},
		"titled chapters":           {"audio", []File{{"B/01 Intro.mp3", 9e6}, {"B/02 Middle.m4a", 9e6}, {"B/03 End.mp3", 9e6}}, []string{"B/01 Intro.mp3", "B/02 Middle.m4a", "B/03 End.mp3"}, 0},
		"volumes of a text":         {"text", []File{{"B/Vol 1.epub", 3e5}, {"B/Vol 2.epub", 3e5}, {"B/Vol 3.mobi", 3e5}, {"B/Vol 1.mobi", 3e5}}, []string{"B/Vol 1.epub", "B/Vol 2.epub", "B/Vol 3.mobi"}, 0},
		"twice, as one and as many": {"audio", []File{{"B/Book.m4b", 3e8}, {"B/mp3/01.mp3", 9e6}, {"B/mp3/02.mp3", 9e6}}, []string{"B/Book.m4b"}, 2},
		"twice, under other titles": {"audio", []File{{"B/01 A.mp3", 9e6}, {"B/02 B.mp3", 9e6}, {"B/01 - A.ogg", 8e6}, {"B/02 - B.ogg", 8e6}}, []string{"B/01 A.mp3", "B/02 B.mp3"}, 2},
		"twice, alike":              {"audio", []File{{"B/01.flac", 9e7}, {"B/02.flac", 9e7}, {"B/01.mp3", 9e6}, {"B/02.mp3", 9e6}}, []string{"B/01.flac", "B/02.flac"}, 0},
		"parts without numbers":     {"audio", []File{{"B/Begin.mp3", 9e6}, {"B/End.m4a", 8e6}}, []string{"B/Begin.mp3"}, 1},
		"a collection":              {"text", []File{{"B/Emma.epub", 3e5}, {"B/Ulysses.mobi", 3e5}, {"B/Walden.pdf", 3e5}}, []string{"B/Emma.epub"}, 2},

		// one book in several formats
		"for a Kobo":                {"text", []File{{"Book.epub", 3e5}, {"Book.kepub.epub", 3e5}}, []string{"Book.epub"}, 0},
		"for a Kobo alone":          {"text", []File{{"B/Book.kepub.epub", 3e5}}, []string{"B/Book.kepub.epub"}, 0},
		"two works of one name":     {"text", []File{{"A/Dune/book.epub", 5e5}, {"A/Emma/book.pdf", 5e6}}, []string{"A/Dune/book.epub"}, 1},
		"a poem beside a book":      {"text", []File{{"A/Dune.epub", 5e5}, {"A/Poem.txt", 9e3}}, []string{"A/Dune.epub"}, 1},
		"in folders of the formats": {"text", []File{{"epub/Book.epub", 3e5}, {"kepub/Book.kepub", 3e5}, {"pdf/Book.pdf", 9e6}}, []string{"epub/Book.epub"}, 0},
		"prc":                       {"text", []File{{"B/Book.prc", 3e5}}, []string{"B/Book.prc"}, 0},
		"azw3":                      {"text", []File{{"B/Book.AZW3", 3e5}}, []string{"B/Book.AZW3"}, 0},
		"fb2.zip":                   {"text", []File{{"B/Book.fb2.zip", 3e5}}, []string{"B/Book.fb2.zip"}, 0},
		"fbz and fb2":               {"text", []File{{"B/Book.fbz", 3e5}, {"B/Book.fb2", 9e5}}, []string{"B/Book.fb2"}, 0},
	} {
		chosen, left, err := Choose(c.medium, c.files)
		var got []string
		for _, c := range chosen {
			got = append(got, c.Path)
		}
		unfit := fault.CodeOf(err) == fault.MediumUnsuitable
		if !slices.Equal(got, c.want) || left != c.left || unfit != (c.want == nil) {
			t.Errorf("%s: %q, %d left out, %v; want %q, %d", name, got, left, err, c.want, c.left)
		}

		backwards := slices.Clone(c.files) // nothing depends on the order in which qBittorrent lists them
		slices.Reverse(backwards)
		again, _, _ := Choose(c.medium, backwards)
		if !slices.EqualFunc(chosen, again, func(a, b Chosen) bool { return a.Path == b.Path && a.Name == b.Name }) {
			t.Errorf("%s: %q backwards", name, names(again))
		}
	}
}

// TestFormatsOfBooks requires each extension to map to the format whose first bytes are checked.
func TestFormatsOfBooks(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.kepub.epub": "kepub.epub", "A.KEPUB": "kepub", "a.b.epub": "epub", "a.fb2.zip": "fb2.zip", "a.prc": "prc", "a.azw3": "azw3", "kepub.epub": "epub",
	} {
		if i := formatOf("text", name); i < 0 || formats["text"][i].Ext != want {
			t.Errorf("%s: %d", name, i)
		}
		if !isMedium("x/" + name) {
			t.Errorf("%s is no medium", name)
		}
	}
	palm := strings.Repeat("x", 60)
	for _, head := range []string{palm + "BOOKMOBI", palm + "TEXtREAd"} {
		if !formats["text"][formatOf("text", "a.prc")].looks([]byte(head)) {
			t.Errorf("%q", head)
		}
	}
}

// TestChooseFromManyNumbers does not compare each file with every other one.
func TestChooseFromManyNumbers(t *testing.T) {
	t.Parallel()
	for _, count := range []int{maxFiles / 2, maxFiles, 5000} {
		var files []File
		for n := range count {
			name := strings.Repeat("1a", 100) + strconv.Itoa(n)
			files = append(files, File{name + ".mp3", 2}, File{name + ".m4a", 1})
		}
		chosen, _, err := Choose("audio", files)
		if wrong := count > maxFiles; (err != nil) != wrong || !wrong && len(chosen) != count {
			t.Errorf("%d files of each: %d chosen, %v", count, len(chosen), err)
		}
	}
}

package library

import (
	"hash/maphash"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Litter is what operating systems, file servers and torrent clients leave beside shared files. It is not content,
// whatever its file extension.
var (
	litterFolder = regexp.MustCompile(`(?i)^(__macosx|@eadir|#recycle|\$recycle\.bin|system volume information|lost\+found|` +
		`\.(pad|trash\S*|appledouble|spotlight-v100|fseventsd|temporaryitems|documentrevisions-v100|thumbnails|cache|git|svn|sync|stfolder))$`)
	litterFile = regexp.MustCompile(`(?i)^(\._.*|\.ds_store|\.directory|(eh)?thumbs\.db|desktop\.ini|_{3,}padding_file.*|~\$.*)$|` +
		`(@syno\w*|\.(part|!qb|!ut|bc!|aria2|crdownload|tmp|nfo|sfv|md5|sha\d+|torrent|url|lnk|webloc|diz|m3u8?|cue|log|opf))$`)
)

func isLitter(file string) bool {
	folders := strings.Split(path.Dir(file), "/")
	return slices.ContainsFunc(folders, litterFolder.MatchString) || litterFile.MatchString(path.Base(file))
}

// Extras are samples and the like, identified by their folder or the last word of their name, and texts about the
// torrent or its site.
var (
	extraFolder = regexp.MustCompile(`(?i)^(extras?|bonus(es)?|samples?|promos?|previews?|ads|adverts?|бонусы?|отрывки|реклама)$`)
	extraName   = regexp.MustCompile(`(?i)(^|[^\pL])(samplers?|samples?|previews?|excerpts?|trailers?|teasers?|promos?|adverts?|` +
		`advertisement|read[ ._-]?me|licen[cs]e|отрывок|реклама)[^\pL]*$`)
	aboutName = regexp.MustCompile(`(?i)^[^\pL]*(read[ ._-]?(me|this|first)|licen[cs]e|copying|changelog|credits|info|disclaimer|torrent|` +
		`downloaded|visit|прочти|прочитай|читать|скачано|скачать|раздача|инфо)([^\pL]|$)|` +
		`(downloaded|скачано)[ ._-]|www\.|https?[ :_]|\.(com|org|net|ru)([^\pL]|$)`)
)

// notes are the formats of texts about a torrent.
var notes = []string{".txt", ".html", ".htm", ".rtf"}

func isExtra(file string) bool {
	folders := strings.Split(path.Dir(file), "/")
	about := slices.Contains(notes, ext(file)) && aboutName.MatchString(stem(file))
	return about || slices.ContainsFunc(folders, extraFolder.MatchString) || extraName.MatchString(stem(file))
}

// attached are extensions of pictures and of parts of web pages: they may be larger than the text to which they belong.
var attached = []string{".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".svg", ".css", ".js", ".woff", ".woff2", ".ttf", ".otf"}

func ext(file string) string { return strings.ToLower(path.Ext(file)) }

// stem is a file's name without its format's extension, in lower case.
func stem(file string) string {
	name := strings.ToLower(path.Base(file))
	for medium := range formats {
		if i := formatOf(medium, name); i >= 0 {
			return strings.TrimSuffix(name, "."+formats[medium][i].Ext)
		}
	}
	return strings.TrimSuffix(name, path.Ext(name))
}

const (
	scrap = 16 << 10 // bytes; less may be a note beside the content
	dwarf = 20       // how many times larger than a note the content is
	extra = 4        // how many times larger than an extra the content is
)

// contents are a torrent's files without litter and extras. Files named like extras are content if nothing is much
// larger.
func contents(files []File) (content []File) {
	files = slices.DeleteFunc(slices.Clone(files), func(file File) bool { return file.Size == 0 || isLitter(file.Path) })
	var largest int64
	for _, file := range files {
		if !isExtra(file.Path) && !slices.Contains(attached, ext(file.Path)) {
			largest = max(largest, file.Size)
		}
	}
	return slices.DeleteFunc(files, func(file File) bool {
		small := largest > 0 && file.Size < scrap && slices.Contains(notes, ext(file.Path))
		return isExtra(file.Path) && (small || largest > extra*file.Size)
	})
}

// isNote reports whether a format's files are only a note beside the content: a preferred format must not win by a few
// bytes, and a page about an archive is not a book.
func isNote(group []Chosen, content []File) bool {
	var size int64
	own := map[string]bool{}
	for _, c := range group {
		size += c.Size
		own[stem(c.Path)] = true
	}
	note := slices.Contains(notes, "."+group[0].Format.Ext)
	return slices.ContainsFunc(content, func(file File) bool {
		rival := !own[stem(file.Path)] && file.Size > dwarf*size && !slices.Contains(attached, ext(file.Path))
		return rival && (size < scrap || note && !isMedium(file.Path))
	})
}

var numberOrText = regexp.MustCompile(`\d+|\D+`)

// maxSteps is how many steps of a path count: no sensible name has more.
const maxSteps = 64

// steps are the first numbers, and the texts between them, in a file's path without its extension.
func steps(file string) []string {
	steps := numberOrText.FindAllString(strings.ToLower(path.Join(path.Dir(file), stem(file))), maxSteps)
	for i, step := range steps {
		if isNumber(step) {
			steps[i] = "0" + strings.TrimLeft(step, "0")
		}
	}
	return steps
}

func isNumber(step string) bool { return step[0] >= '0' && step[0] <= '9' }

// partsOf finds files that are parts missing among the chosen ones, such as the second disc beside the first. Their
// paths first differ by a number that no chosen file has there.
func partsOf(chosen, others []Chosen) (parts []Chosen) {
	numbers := map[uint64]map[string]bool{} // of chosen files, after the same steps
	for _, c := range chosen {
		eachNumber(c.Path, func(before uint64, number string) {
			if numbers[before] == nil {
				numbers[before] = map[string]bool{}
			}
			numbers[before][number] = true
		})
	}
	for _, c := range others {
		lacks := false
		eachNumber(c.Path, func(before uint64, number string) { // the last place where they differ counts
			if have := numbers[before]; len(have) > 1 || len(have) == 1 && !have[number] {
				lacks = !have[number]
			}
		})
		if lacks {
			parts = append(parts, c)
		}
	}
	return parts
}

var seed = maphash.MakeSeed()

// eachNumber calls each with the numbers in a path, and a hash of the steps before each.
func eachNumber(file string, each func(before uint64, number string)) {
	var before maphash.Hash
	before.SetSeed(seed)
	for _, step := range steps(file) {
		if isNumber(step) {
			each(before.Sum64(), step)
		}
		_, _ = before.WriteString(step)
		_ = before.WriteByte(0)
	}
}

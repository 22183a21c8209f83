package library

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSafeName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"On Wheels":         "On Wheels",
		"../../etc/passwd":  "_.._etc_passwd",
		"..":                "_",
		"":                  "_",
		" . ":               "_",
		".hidden":           "hidden",
		"a/b\\c:d*e?f\"g<h": "a_b_c_d_e_f_g_h",
		"a\x00b\x1bc\nd\te": "abc d e",
		"trailing. . ":      "trailing",
		"CON":               "_CON",
		"com1.txt":          "_com1.txt",
		"Contact":           "Contact",
		"com port":          "com port",
		"\u202egnp.exe":     "gnp.exe",
		"e\u0301":           "é",
		"bad\xffbyte":       "bad_byte",
		"  two   spaces ":   "two spaces",
		"Война и мир":       "Война и мир",
	} {
		if got := SafeName(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}

	for _, long := range []string{strings.Repeat("я", 500), strings.Repeat("a", 179) + ".b", strings.Repeat(" 书", 100)} {
		if got := SafeName(long); len(got) > maxName || !utf8.ValidString(got) || SafeName(got) != got {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	book := Book{ID: 4, Title: "On: Wheels/2", Author: "A. {title} Cartwright", MediaType: "audio"}
	for text, want := range map[string]string{
		DefaultTemplate:                     "A. {title} Cartwright/On_ Wheels_2/On_ Wheels_2",
		"{title}.{ext}":                     "On_ Wheels_2",
		"{medium}/{author} - {title}.{ext}": "audio/A. {title} Cartwright - On_ Wheels_2",
		"{id}/book.{ext}":                   "4/book",
	} {
		template, err := ParseTemplate(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := template.Places(book, 9)[0]; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}

	standard, _ := ParseTemplate(DefaultTemplate)
	for want, b := range map[string]Book{
		"Unknown author/T/T (2)": {Title: "T", Author: "  "},
		"_/_/_ (2)":              {Title: "..", Author: "../.."},
	} {
		if got := standard.Places(b, 9)[1]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}

	for _, wrong := range []string{
		"", "{title}", "/{title}.{ext}", "../{title}.{ext}", "{title}/../x.{ext}", "a//{title}.{ext}", "{name}.{ext}", "x.{ext}",
		"{author}.{ext}", "{title}.{ext}.{ext}", "a:b/{title}.{ext}", ".hidden/{title}.{ext}", "{title}/.{ext}",
		"1/2/3/4/5/6/7/8/{title}.{ext}", "nul/{title}.{ext}", "{tit{id}le}.{ext}",
	} {
		if _, err := ParseTemplate(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// TestPlacesOfAJob requires the last places to belong to one job only, whatever other books' titles are.
func TestPlacesOfAJob(t *testing.T) {
	t.Parallel()
	flat, _ := ParseTemplate("{title}.{ext}")
	deep, _ := ParseTemplate(DefaultTemplate)
	mine := Book{Title: "T", Author: "A"}
	for _, c := range []struct {
		template Template
		want     []string
	}{
		{flat, []string{"T", "T (2)", "T (3)", "T  (71)"}},
		{deep, []string{"A/T/T", "A/T/T (2)", "A/T/T (3)", "A/T/T  (71)", "T  (71)"}},
	} {
		places := c.template.Places(mine, 71)
		if !slices.Equal(places, c.want) {
			t.Errorf("%q, want %q", places, c.want)
		}
		for _, title := range []string{"T  (71)", "T (71)", "T\t (71)", "T \u200b (71)", "T\u00a0 (71)"} {
			for _, other := range c.template.Places(Book{Title: title, Author: "A"}, 72) {
				if slices.Contains(places[3:], other) {
					t.Errorf("a book %q takes %q", title, other)
				}
			}
		}
	}
}

func TestNatural(t *testing.T) {
	t.Parallel()
	sorted := []string{
		"1.mp3", "2.mp3", "10.mp3", "Chapter 1.mp3", "chapter 2.mp3", "Chapter 010.mp3", "chapter 11.mp3", "Part 1/9.mp3",
		"Part 1/10.mp3", "Part 1 extras/1.mp3", "Part 2/1.mp3", "Part 10/1.mp3", "Part 99999999999999999999999/1.mp3",
	}
	shuffled := slices.Clone(sorted)
	slices.Reverse(shuffled)
	slices.SortFunc(shuffled, func(a, b string) int { return strings.Compare(natural(a), natural(b)) })
	if !slices.Equal(shuffled, sorted) {
		t.Errorf("%q", shuffled)
	}
}

package torznab_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stagecoach/internal/fault"
)

// TestAnswersThatWouldTakeMemory rejects answers whose elements and attributes would take much more memory than their
// bytes, and reads odd ones within the limits.
func TestAnswersThatWouldTakeMemory(t *testing.T) {
	t.Parallel()
	const known = `<title>a</title><link>https://x.example/1</link>`
	nested := func(n int) string { return strings.Repeat("<a>", n) + strings.Repeat("</a>", n) }
	var attributes strings.Builder
	for n := range 50_000 {
		_, _ = fmt.Fprintf(&attributes, " a%d=''", n)
	}

	for name, c := range map[string]struct {
		item string
		read bool
	}{
		"elements in one another":      {known + nested(1000), false},
		"some in one another":          {known + nested(10), true},
		"in a title":                   {"<title>a" + nested(1000) + "</title><link>https://x.example/1</link>", false},
		"attributes":                   {known + "<a" + attributes.String() + "/>", false},
		"elements":                     {known + strings.Repeat("<a/>", 100_000), false},
		"some elements":                {known + strings.Repeat(`<attr name="a" value="b"/>`, 10_000), true},
		"a long description":           {known + "<description>" + strings.Repeat("a", 200<<10) + "</description>", true},
		"a text without an end":        {known + "<description>" + strings.Repeat("a", 300<<10) + "</description>", false},
		"a comment without an end":     {known + "<!--" + strings.Repeat("a", 300<<10) + "-->", false},
		"a date of many comments":      {known + "<pubDate>" + strings.Repeat("(", 100<<10) + "</pubDate>", true},
		"elements within a good title": {"<title>a<b>c</b></title><link>https://x.example/<b>2</b>1</link>", true},
	} {
		found := search(t, time.Minute, "a", "text", answering(t, rss("<item>"+c.item+"</item>")))
		switch {
		case c.read && (len(found.Failed) > 0 || len(found.Releases) != 1 || found.Releases[0].Title != "a" || found.Releases[0].SourceURL != "https://x.example/1"):
			t.Errorf("%s: %+v", name, found)
		case !c.read && (len(found.Releases) > 0 || len(found.Failed) != 1 || found.Failed[0].Code != fault.SourceRefused):
			t.Errorf("%s: %d releases, %+v", name, len(found.Releases), found.Failed)
		}
	}
}

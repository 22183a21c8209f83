package torznab_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/torznab"
)

// named is a downloadable item.
func named(title string) string {
	return `<item><title>` + title + `</title><link>https://x.example/` + strings.ReplaceAll(title, " ", "") + `</link></item>`
}

// TestOneBadItemLeavesTheOthers reads the other releases of an answer in which one is not XML, and that one too if it
// can be understood.
func TestOneBadItemLeavesTheOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ item, title string }{
		"a bell":                     {named("A\x07B"), "A B"},
		"the number of no character": {named("A&#x1F;B"), "A B"},
		"a decimal number of none":   {named("A&#7;B"), "A B"},
		"a number beyond Unicode":    {named("A&#x7FFFFFFF;B"), "A B"},
		"an ampersand in a link":     {`<item><title>A</title><link>https://x.example/A?a=1&b=2</link></item>`, "A"},
		"an ampersand in a value":    {`<item><title>A</title><enclosure url="https://x.example/A?a=1&b=2"/></item>`, "A"},
		"an ampersand in a title":    {named("Salt & Pepper"), "Salt & Pepper"},
		"a name that nobody knows":   {named("A&nosuch;B"), "A&nosuch;B"},
		"a name of HTML 5":           {named("A&NotEqualTilde;B"), "A≂̸B"},
		"CDATA":                      {`<item><title><![CDATA[A & B]]></title><link><![CDATA[https://x.example/A?a=1&b=2]]></link></item>`, "A & B"},
		"a stray byte":               {named("A\xe9B"), "A B"},
		"half a character":           {named("A\xe2\x82"), "A"},
		"a character that is none":   {named("A\uffff"), "A"},
		"a NUL":                      {named("A\x00B"), "A B"},
		"a long description":         {`<item><title>A</title><description>` + strings.Repeat("x", 300<<10) + `</description></item>`, ""},
		"a deep description":         {`<item><title>A</title><description>` + strings.Repeat("<b>", 30) + strings.Repeat("</b>", 30) + `</description></item>`, ""},
		"an element without an end":  {`<item><title>A<link>https://x.example/A</link></item>`, ""},
		"another one's end":          {`<item><title>A</b></title></item>`, ""},
		"a less-than sign":           {named("A < B"), ""},
		"an attribute without marks": {`<item><title>A</title><enclosure url=https://x.example/A /></item>`, ""},
		"twice an attribute's end":   {`<item><title>A</title><enclosure url="https://x.example/A""/></item>`, ""},
		"a comment with two hyphens": {`<item><!-- a -- b --><title>A</title></item>`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := search(t, time.Minute, "a", "text", answering(t, rss(named("first"), c.item, named("last"))))
			want := []string{"first", c.title, "last"}
			if c.title == "" {
				want = []string{"first", "last"}
			}
			if got := titles(found); !slices.Equal(got, want) || len(found.Failed) > 0 {
				t.Errorf("%q, %+v, want %q", got, found.Failed, want)
			}
		})
	}
}

func titles(found torznab.Found) (all []string) {
	for _, r := range found.Releases {
		all = append(all, r.Title)
	}
	return all
}

// TestAnswersInOtherCharsets are read by their declared charset.
func TestAnswersInOtherCharsets(t *testing.T) {
	t.Parallel()
	for declared, title := range map[string]string{
		"windows-1251": "\xc2\xee\xe9\xed\xe0", "KOI8-R": "\xf7\xcf\xca\xce\xc1", "utf-8": "Война", "UTF8": "Война", "iso-8859-5": "\xb2\xde\xd9\xdd\xd0",
		"no-such-charset": "Война",
	} {
		answer := `<?xml version="1.0" encoding="` + declared + `"?>` + rss(`<item><title>`+title+`</title><link>https://x.example/1</link></item>`)
		if got := titles(search(t, time.Minute, "a", "text", answering(t, answer))); !slices.Equal(got, []string{"Война"}) {
			t.Errorf("%s: %q", declared, got)
		}
	}
}

// TestTextWithoutAnEnd is read once, however often it seems to begin.
func TestTextWithoutAnEnd(t *testing.T) {
	t.Parallel()
	found := search(t, time.Minute, "a", "text", answering(t, rss(named("first"), strings.Repeat("<![CDATA[&", 100_000))))
	if got := titles(found); !slices.Equal(got, []string{"first"}) {
		t.Errorf("%q, %+v", got, found.Failed)
	}
}

// TestManyBrokenItems are not processed endlessly.
func TestManyBrokenItems(t *testing.T) {
	t.Parallel()
	found := search(t, time.Minute, "a", "text", answering(t, rss(strings.Repeat("<item><", 500_000))))
	if len(found.Releases) > 0 || len(found.Failed) != 1 || found.Failed[0].Code != fault.SourceRefused {
		t.Errorf("%+v", found)
	}
}

// TestLinksThatAreNotEscaped or that are relative lead where their indexer intends.
func TestLinksThatAreNotEscaped(t *testing.T) {
	t.Parallel()
	attr := func(value string) string { return `<torznab:attr name="magneturl" value="` + value + `"/>` }
	for item, want := range map[string]string{
		attr(magnet + "&amp;dn=A Treatise on Wheels"):                             magnet + "&dn=A%20Treatise%20on%20Wheels",
		attr(magnet + "&amp;dn=A\u00a0B&amp;tr=udp://t:1/a"):                      magnet + "&dn=A%20B&tr=udp://t:1/a",
		attr("  " + magnet + "&amp;dn=100% real\n"):                               magnet + "&dn=100%25%20real",
		attr(magnet + "&amp;amp;dn=a"):                                            magnet + "&dn=a",
		attr(strings.ToUpper(magnet[:8]) + magnet[8:]):                            "MAGNET:?" + magnet[8:],
		`<link>` + magnet + `&amp;dn=a b</link>`:                                  magnet + "&dn=a%20b",
		`<guid>` + magnet + `&amp;dn=a b</guid>`:                                  magnet + "&dn=a%20b",
		`<link>https://x.example/A [2020].torrent</link>`:                         "https://x.example/A%20[2020].torrent",
		`<link>https://x.example/[2020]/100%real.torrent</link>`:                  "https://x.example/[2020]/100%25real.torrent",
		`<link>https://x.example/100%</link>`:                                     "https://x.example/100%25",
		`<link>https://x.example/50%25/%d0%92</link>`:                             "https://x.example/50%25/%d0%92",
		`<link>https://x.example/Война и мир.torrent?a=б в</link>`:                "https://x.example/Война%20и%20мир.torrent?a=б%20в",
		`<link>/get/1.torrent</link>`:                                             "$/get/1.torrent",
		`<link>get/1.torrent</link>`:                                              "$/feed/get/1.torrent",
		`<link>../get?id=1</link>`:                                                "$/get?id=1",
		`<enclosure url="/get/A [2020]"/>`:                                        "$/get/A%20[2020]",
		`<link>//files.example:8080/1.torrent</link>`:                             "http://files.example:8080/1.torrent",
		`<link>//files.example/1.torrent</link>`:                                  "http://files.example/1.torrent",
		`<enclosure url="/get/1"/><link>https://x.example/1</link>`:               "https://x.example/1",
		`<enclosure url="none"/><link>https://x.example/1</link>`:                 "https://x.example/1",
		`<enclosure url="ftp://x.example/1"/><link>https://x.example/1</link>`:    "https://x.example/1",
		`<link>javascript:alert(1)</link>`:                                        "",
		`<link></link><guid>12345</guid>`:                                         "",
		`<link>https://x.example/a` + "\n" + `https://x.example/b</link>`:         "",
		`<guid>/details/1</guid><comments>https://x.example/page</comments>`:      "",
		`<enclosure url="https://x.example/a&#10;b"/><link>/get/2.torrent</link>`: "$/get/2.torrent",
		`<link>//[</link><torznab:attr name="magneturl" value="` + magnet + `"/>`: magnet,
	} {
		indexer := answering(t, rss(`<item><title>a</title>`+item+`</item>`))
		found := search(t, time.Minute, "a", "text", indexer)
		got := ""
		if len(found.Releases) == 1 {
			got = found.Releases[0].SourceURL
		}
		if want := strings.Replace(want, "$", strings.TrimSuffix(indexer.URL, "/feed"), 1); got != want || len(found.Failed) > 0 {
			t.Errorf("%s: %q, want %q", item, got, want)
		}
	}
}

// TestNumbersOfReleases are read with blanks, and the right one of two.
func TestNumbersOfReleases(t *testing.T) {
	t.Parallel()
	size := func(value string) string { return `<torznab:attr name="size" value="` + value + `"/>` }
	seeds := func(value string) string { return `<torznab:attr name="seeders" value="` + value + `"/>` }
	for item, want := range map[string]string{
		`<size>0</size>` + size("5") + seeds("1"):                "5 1",
		`<size></size>` + size("5"):                              "5 -",
		`<size>-1</size>` + size("5") + seeds("0"):               "5 0",
		`<size>unknown</size>` + size("5") + seeds(""):           "5 -",
		`<size> 1 234 567 </size>` + seeds(" 12 "):               "1234567 12",
		"<size>1\u00a0234\n</size>" + seeds("\t3\n"):             "1234 3",
		`<size>7</size>` + size("5") + seeds("99999999999"):      "7 -",
		`<size>1125899906842624</size>` + size("5") + seeds("x"): "5 -",
		`<size>1.5</size>` + seeds("1.5"):                        "0 -",
	} {
		found := search(t, time.Minute, "a", "text", answering(t, rss(`<item><title>a</title><link>https://x.example/1</link>`+item+`</item>`)))
		if len(found.Releases) != 1 {
			t.Errorf("%s: %+v", item, found)
			continue
		}
		got := fmt.Sprint(found.Releases[0].Size, " -")
		if seeders := found.Releases[0].Seeders; seeders != nil {
			got = fmt.Sprint(found.Releases[0].Size, " ", *seeders)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", item, got, want)
		}
	}
}

// TestTheBestOfManyReleases may come last. Releases that do not report their seeders may have some.
func TestTheBestOfManyReleases(t *testing.T) {
	t.Parallel()
	for _, n := range []int{51, 150, 500, 2000} {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(`<item><title>%d</title><link>https://x.example/%d</link><torznab:attr name="seeders" value="%d"/></item>`, i, i, i))
		}
		got := titles(search(t, time.Minute, "a", "text", answering(t, rss(items...))))
		if len(got) != torznab.MaxFound || got[0] != fmt.Sprint(n-1) || got[49] != fmt.Sprint(n-50) {
			t.Errorf("of %d: %q", n, got)
		}
	}

	seeded := func(title, attribute string) string {
		return strings.Replace(named(title), "</item>", attribute+"</item>", 1)
	}
	got := titles(search(t, time.Minute, "a", "text", answering(t, rss(
		seeded("none", `<torznab:attr name="seeders" value="0"/>`), named("unknown"), seeded("one", `<torznab:attr name="seeders" value="1"/>`),
	))))
	if !slices.Equal(got, []string{"one", "unknown", "none"}) {
		t.Errorf("%q", got)
	}
}

// TestWordsAreSearchedFor plainly, and without the subtitle if an indexer has nothing else.
func TestWordsAreSearchedFor(t *testing.T) {
	t.Parallel()
	for words, want := range map[string][]string{
		"Carl’s Doomsday Scenario: Dungeon Crawler, Book 2 (Unabridged)": {"Carls Doomsday Scenario Dungeon Crawler Book 2 Unabridged", "Carls Doomsday Scenario"},
		"war peace":                      {"war peace"},
		"Война и мир. Том 1":             {"Война и мир Том 1"},
		"Don't Panic!":                   {"Dont Panic"},
		"A Book [2020] {epub}":           {"A Book 2020 epub", "A Book"},
		"\"quoted\" -minus +plus | or":   {"quoted minus plus or"},
		"Spider-Man/Deadpool & Co":       {"Spider Man Deadpool Co"},
		"C++":                            {"C"},
		"(Unabridged)":                   {"Unabridged"},
		": nothing before":               {"nothing before"},
		"???":                            {"???"},
		"Cafe\u0301: re\u0301sume\u0301": {"Cafe\u0301 re\u0301sume\u0301", "Cafe\u0301"},
		"银河系漫游指南：第一部（完整版）":                   {"银河系漫游指南 第一部 完整版", "银河系漫游指南"},
		"Title (unclosed: and a colon":       {"Title unclosed and a colon", "Title"},
		"नमस्ते":                             {"नमस्ते"},
		strings.Repeat("a", 150) + ":" + "b": {strings.Repeat("a", 150) + " b", strings.Repeat("a", 150)},
	} {
		var asked []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Query().Get("q"))
			_, _ = w.Write([]byte(rss()))
		}))
		found := search(t, time.Minute, words, "text", torznab.Indexer{URL: server.URL})
		server.Close()
		if !slices.Equal(asked, want) || len(found.Failed) > 0 {
			t.Errorf("%q: asked %q, want %q", words, asked, want)
		}
	}
}

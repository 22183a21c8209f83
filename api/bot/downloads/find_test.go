package downloads

import "testing"

func TestAReleaseProposesItsBook(t *testing.T) {
	t.Parallel()
	for release, book := range map[string]string{
		"On <Wheels> (epub)":                                  "On <Wheels>",
		"A. Cartwright - On Wheels (2020) [EPUB]":             "On Wheels / A. Cartwright",
		"Картрайт А. - На колёсах [2020, FB2]":                "На колёсах / Картрайт А.",
		"On Wheels by Anna Cartwright, B. Smith [ENG / EPUB]": "On Wheels / Anna Cartwright, B. Smith",
		"A.Cartwright.-.On.Wheels.2020.Retail.ePub":           "On Wheels 2020 / A Cartwright",
		"Side by side": "Side by side",
		"[epub]":       "",
	} {
		if got := proposedBook(release); got != book {
			t.Errorf("%q proposes %q", release, got)
		}
	}
}

package bot

import (
	"fmt"
	"html"
	"strings"

	"github.com/mymmrac/telego"

	"stagecoach/internal/catalog"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

const (
	labelLength = 40 // runes on a button: more is cut off by the clients, in the wrong place
	crumbLength = 32
	crumbsShown = 6
)

// pages gives how many pages so many entries make.
func pages(total int) int { return max(1, (total+pageSize-1)/pageSize) }

// folderView draws a page of a folder.
func folderView(language string, id int64, listing catalog.Listing, page int) view {
	last := pages(listing.Total) - 1
	text := "📁 <b>" + crumbs(language, listing.Folder.Path) + "</b>"
	if listing.Total == 0 {
		text += "\n\n" + textEmptyFolder.in(language)
	}

	if listing.Stale {
		text += "\n\n" + textStaleListing.in(language)
	}
	return view{text: text, rows: rows(append(
		entryRows(listing.Files, place{folder: id, page: int64(page)}),
		pageRow("f", []any{id}, page, last),
		append(upButton(language, listing.Folder), press(labelSearch.in(language), "s")...),
	)...)}
}

// resultsView draws a page of search results; files holds one more than the page when another follows.
func resultsView(language string, conv store.Conversation, files []store.File, page int, indexing bool) view {
	text := textResults.in(language, html.EscapeString(clean(conv.Query)))
	if len(files) == 0 {
		text += "\n\n" + textNothingFound.in(language)
	}

	var again []telego.InlineKeyboardButton
	if indexing {
		text += "\n\n" + textIndexing.in(language)
		again = press(labelAgain.in(language), "r", page)
	}

	last := page
	if len(files) > pageSize {
		files, last = files[:pageSize], page+1
	}
	return view{text: text, rows: rows(append(
		entryRows(files, place{results: true, page: int64(page)}),
		pageRow("r", nil, page, last),
		again,
		append(press(labelFiles.in(language), "f", conv.FolderID, 0), press(labelSearch.in(language), "s")...),
	)...)}
}

// entryRows draws entries, a row each.
func entryRows(files []store.File, where place) [][]telego.InlineKeyboardButton {
	var drawn [][]telego.InlineKeyboardButton
	for _, file := range files {
		if file.IsFolder {
			drawn = append(drawn, press("📁 "+label(file.Name), "f", file.ID, 0))
		} else {
			drawn = append(drawn, press("📄 "+label(file.Name), "i", file.ID, where))
		}
	}
	return drawn
}

// pageRow draws the way to the other pages; none when there is one page. Where the number of pages is not known, last
// is the last that is.
func pageRow(prefix string, args []any, page, last int) []telego.InlineKeyboardButton {
	if last == 0 {
		return nil
	}

	to := func(label string, page int) []telego.InlineKeyboardButton {
		return press(label, prefix, append(args[:len(args):len(args)], page)...)
	}

	var row []telego.InlineKeyboardButton
	if page > 0 {
		row = append(row, append(to("«", 0), to("‹", page-1)...)...)
	}

	row = append(row, to(fmt.Sprintf("%d/%d", page+1, last+1), page)...)
	if page < last {
		row = append(row, append(to("›", page+1), to("»", last)...)...)
	}
	return row
}

func upButton(language string, folder store.File) []telego.InlineKeyboardButton {
	if folder.Path == "/" || folder.Path == "" {
		return nil
	}
	return press(labelUp.in(language), "u", folder.ID)
}

// fileView draws the card of a file. Where it cannot be delivered, the reason stands in the button's place.
func (b *Bot) fileView(language string, file store.File, back place, note string) view {
	text := textFile.in(language, html.EscapeString(clean(file.Name)), crumbs(language, file.Parent),
		sizeIn(language, file.Size), dateIn(language, file.ModifiedAt))
	getIt := press(labelDownload.in(language), "d", file.ID, newNonce(), back)
	if err := b.deliveries.CheckFile(file); err != nil {
		getIt = nil
		text += "\n\n⚠️ " + faultText(fault.CodeOf(err)).in(language)
	}

	if note != "" {
		text += "\n\n✅ " + note
	}

	to := press(labelBack.in(language), "f", back)
	if back.results {
		to = press(labelBack.in(language), "r", back.page)
	}
	return view{text: text, rows: rows(getIt, to)}
}

// crumbs writes the way to a folder as HTML, the top first; a deep one loses its middle.
func crumbs(language, path string) string {
	way := []string{labelTop.in(language)}
	for _, name := range strings.Split(path, "/") {
		if name != "" {
			way = append(way, html.EscapeString(shorten(clean(name), crumbLength)))
		}
	}
	if len(way) > crumbsShown {
		way = append([]string{way[0], "…"}, way[len(way)-crumbsShown+2:]...)
	}
	return strings.Join(way, " › ")
}

// label fits a name on a button.
func label(name string) string { return shorten(clean(name), labelLength) }

package deliveries

import (
	"fmt"
	"slices"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/catalog"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/notice"
)

const (
	crumbLength = 32 // runes of a folder's name
	crumbsShown = 6
)

// pages returns the number of pages for so many entries.
func pages(total int) int { return max(1, (total+pageSize-1)/pageSize) }

// folderView draws a page of a folder.
func folderView(language string, id int64, listing catalog.Listing, page int) chat.View {
	last := pages(listing.Total) - 1
	text := "📁 <b>" + crumbs(language, listing.Folder.Path) + "</b>"
	if listing.Total == 0 {
		text += "\n\n" + textEmptyFolder.In(language)
	}

	if listing.Stale {
		text += "\n\n" + textStaleListing.In(language)
	}

	rows := append(
		entryRows(listing.Files, place{folder: id, page: int64(page)}),
		pageRow("f", []any{id}, page, last),
		append(upButton(language, listing.Folder), chat.Press(labelSearch.In(language), "s")...),
	)

	return chat.View{Text: text, Rows: chat.Rows(rows...)}
}

// resultsView draws a page of search results; files holds one more than the page when there are more.
func resultsView(language string, conv notice.Conversation, files []delivery.File, page int, indexing bool) chat.View {
	text := chat.TextResults.In(language, chat.HTML(conv.Query))
	if len(files) == 0 {
		text += "\n\n" + textNothingFound.In(language)
	}

	var again chat.Row
	if indexing {
		text += "\n\n" + words.StillIndexing.In(language)
		again = chat.Press(labelAgain.In(language), "r", page)
	}

	last := page
	if len(files) > pageSize {
		files, last = files[:pageSize], page+1
	}

	toFolder := chat.Press(chat.LabelFiles.In(language), "f", conv.FolderID, 0)
	rows := append(
		entryRows(files, place{results: true, page: int64(page)}),
		pageRow("r", nil, page, last),
		again,
		append(toFolder, chat.Press(labelSearch.In(language), "s")...),
	)

	return chat.View{Text: text, Rows: chat.Rows(rows...)}
}

// entryRows draws entries, one row each.
func entryRows(files []delivery.File, where place) []chat.Row {
	var drawn []chat.Row
	for _, file := range files {
		button := chat.Press("📄 "+chat.Label(file.Name), "i", file.ID, where)
		if file.IsFolder {
			button = chat.Press("📁 "+chat.Label(file.Name), "f", file.ID, 0)
		}
		drawn = append(drawn, button)
	}
	return drawn
}

// pageRow draws the buttons to the other pages; none if there is only one page. Where the number of pages is unknown,
// last is the last known page.
func pageRow(prefix string, args []any, page, last int) chat.Row {
	if last == 0 {
		return nil
	}

	to := func(label string, page int) chat.Row {
		return chat.Press(label, prefix, append(args[:len(args):len(args)], page)...)
	}

	var back, on chat.Row
	if page > 0 {
		back = append(to("«", 0), to("‹", page-1)...)
	}

	if page < last {
		on = append(to("›", page+1), to("»", last)...)
	}
	return slices.Concat(back, to(fmt.Sprintf("%d/%d", page+1, last+1), page), on)
}

func upButton(language string, folder delivery.File) chat.Row {
	if folder.Path == "/" || folder.Path == "" {
		return nil
	}
	return chat.Press(labelUp.In(language), "u", folder.ID)
}

// fileView draws the card of a file, with the reason in place of the button when the file cannot be delivered.
func (h *handlers) fileView(language string, file delivery.File, back place, note string) chat.View {
	text := textFile.In(language, chat.HTML(file.Name), crumbs(language, file.Parent),
		words.Size(language, file.Size), words.Date(language, file.ModifiedAt))

	deliver := chat.Press(labelDownload.In(language), "d", file.ID, chat.Nonce(), back)
	if err := h.deliveries.CheckFile(file); err != nil {
		deliver = nil
		text += "\n\n⚠️ " + words.Deliveries.Faults.Text(fault.CodeOf(err)).In(language)
	}

	if note != "" {
		text += "\n\n✅ " + note
	}

	to := chat.Press(chat.LabelBack.In(language), "f", back)
	if back.results {
		to = chat.Press(chat.LabelBack.In(language), "r", back.page)
	}
	return chat.View{Text: text, Rows: chat.Rows(deliver, to)}
}

// crumbs renders the path of a folder as HTML, from the top; the middle of a deep path is left out.
func crumbs(language, path string) string {
	way := []string{labelTop.In(language)}
	for _, name := range strings.Split(path, "/") {
		if name != "" {
			way = append(way, chat.ShortHTML(name, crumbLength))
		}
	}
	if len(way) > crumbsShown {
		way = append([]string{way[0], "…"}, way[len(way)-crumbsShown+2:]...)
	}
	return strings.Join(way, " › ")
}

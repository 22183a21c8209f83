package bot

import (
	"fmt"
	"strings"
	"testing"

	"stagecoach/dev/sim/telegramsim"
	"stagecoach/internal/fault"
)

func TestWalkingTheFolders(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	for i := range 20 {
		w.catalog.add(t, fmt.Sprintf("/books/file %02d.pdf", i), int64(i)*1_000_000)
	}

	w.catalog.add(t, "/books/old & new/deep.txt", 1536)
	w.run(w.bot())

	w.writes(anna, "ru", "/files")
	menu := w.sees(anna, "<b>Файлы</b>", "📁 books")
	w.presses(anna, "📁 books")
	w.sees(anna, "Файлы › books", "file 00.pdf", "1/3", "⬆️ Вверх", "🔎 Поиск")
	w.presses(anna, "»")
	w.sees(anna, "file 16.pdf", "3/3")
	w.presses(anna, "‹")
	w.sees(anna, "file 08.pdf", "2/3")
	w.presses(anna, "file 12.pdf")
	card := w.sees(anna, "<b>file 12.pdf</b>", "Папка: Файлы › books", "Размер: 11,4 МБ", "⬇️ Скачать")
	w.presses(anna, "⬅️ Назад")
	w.sees(anna, "2/3", "file 12.pdf")
	w.presses(anna, "›")
	w.presses(anna, "old & new")
	w.sees(anna, "Файлы › books › old &amp; new", "deep.txt")
	w.presses(anna, "⬆️")
	w.sees(anna, "Файлы › books", "1/3")
	w.presses(anna, "⬆️")
	top := w.sees(anna, "📁 books")
	if card.MessageID != menu.MessageID || top.MessageID != menu.MessageID || len(w.messages(anna)) != 1 {
		t.Errorf("the menu is not one message: %+v", w.messages(anna))
	}

	w.writes(anna, "ru", "/files")
	w.eventually("a new menu below the old one", func() bool {
		shown := w.messages(anna)
		return len(shown) == 2 && shown[0].MessageID == menu.MessageID
	})
}

func TestSearch(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	for i := range 10 {
		w.catalog.add(t, fmt.Sprintf("/a/Report %d.doc", i), 100)
	}

	w.run(w.bot())
	w.writes(anna, "en", "/files")
	w.presses(anna, "📁 a")
	w.presses(anna, "🔎 Search")
	asked := w.sees(anna, "Write a part of the name")
	w.writes(anna, "en", "  report \n ")
	found := w.sees(anna, "🔎 <b>report</b>", "Report 0.doc", "1/2")
	if found.MessageID != asked.MessageID {
		t.Error("the results are not in the menu")
	}

	w.presses(anna, "›")
	w.sees(anna, "Report 9.doc", "2/2")
	w.presses(anna, "Report 9.doc")
	w.sees(anna, "<b>Report 9.doc</b>", "Folder: Files › a", "Size: 100 B")
	w.presses(anna, "Back")
	w.sees(anna, "Report 9.doc", "2/2")
	w.presses(anna, "📁 Files")
	w.sees(anna, "Files › a")

	w.writes(anna, "en", "<b>nothing")
	if m := w.sees(anna, "No file has this in its name", "&lt;b&gt;nothing"); m.MessageID == found.MessageID {
		t.Error("words out of the blue changed a menu that may be out of sight")
	}

	w.writes(anna, "en", "")
	w.sees(anna, "text and buttons only")
}

func TestNamesOfAllKinds(t *testing.T) {
	t.Parallel()
	names := []string{
		`<b>bold & "quoted" 'name' 🚀.txt`,
		strings.Repeat("🚀", 62) + ".tar.gz",
		strings.Repeat("я", 125) + ".mp3",
		strings.Repeat("x", 255),
		"line\nbreak\u202egpj.exe",
		" ",
	}

	w := newRig(t)
	w.run(w.bot())
	for i, name := range names {
		file := w.catalog.add(t, fmt.Sprintf("/%d/%s", i, name), 5_000_000)
		w.writes(anna, "en", "/files")
		w.presses(anna, fmt.Sprintf("📁 %d", i))
		w.presses(anna, fmt.Sprintf("i:%d:", file.ID))
		card := w.sees(anna, "Size: 4.8 MB", "d:"+number64(file.ID))
		w.presses(anna, "d:"+number64(file.ID))
		w.sees(anna, "Delivery #"+number64(int64(i+1))+" has started")
		live := w.sees(anna, "#"+number64(int64(i+1))+" <b>", "In the queue")

		for _, m := range []telegramsim.Message{card, live} {
			if strings.Contains(m.Text, "<b>bold") || strings.ContainsAny(m.Text, "\u202e") {
				t.Errorf("the name is not made harmless: %q", m.Text)
			}
		}
	}
}

func TestWhatCannotBeDeliveredSaysWhy(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	empty := w.catalog.add(t, "/empty.txt", 0)
	w.catalog.add(t, "/big.iso", 3<<30)
	w.run(w.bot())
	w.writes(anna, "en", "/files")
	w.presses(anna, "big.iso")
	if card := w.sees(anna, "<b>big.iso</b>", "too big"); findButton(card, "d:") != "" {
		t.Error("a file that is too big can be asked for")
	}

	w.presses(anna, "Back")
	w.presses(anna, fmt.Sprintf("i:%d", empty.ID))
	w.sees(anna, "<b>empty.txt</b>", "The file is empty")

	w.catalog.fail(fault.New(fault.YandexUnavailable, "secret").Retry())
	w.presses(anna, "Back")
	w.notes(anna, "The file storage is unavailable")
}

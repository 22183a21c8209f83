package config

import "stagecoach/internal/library"

// Library says where the files of books are, and how long torrents stay after their files are there.
type Library struct {
	Dir       string // empty: there is no library folder
	Template  library.Template
	SeedRatio float64 // that a torrent is shared to before it goes; 0: it stays
	SeedDays  int     // that a torrent is shared for before it goes; 0: it stays
}

func (c *Config) librarySettings() []Setting {
	return []Setting{
		only(withoutWallet, text(&c.Library.Dir, "STAGECOACH_LIBRARY_DIR", "", "the library folder, which API and workers see at the same path: workers put what was downloaded there, by a hard link where it is on the file system and the mount of qBittorrent's folder, else as a copy, and from there books are sent to chats and served at /opds; empty: it stays in qBittorrent's folder")),
		only(withTorrents, template(&c.Library.Template, "STAGECOACH_LIBRARY_TEMPLATE", "where in the library folder a medium lies: {author}, {title}, {medium} (text or audio), {id} of the book, and {ext}; several files lie in a folder of that name without the ending")),
		only(withTorrents, number(&c.Library.SeedRatio, "STAGECOACH_SEED_RATIO", "0", "a torrent whose medium is in the library folder is removed with its files when it is shared to this ratio; 0: it stays")),
		only(withTorrents, integer(&c.Library.SeedDays, "STAGECOACH_SEED_DAYS", "0", 0, 3650, "or when it is shared for this many days; 0: it stays")),
	}
}

// template reads the template of the library's names.
func template(into *library.Template, name, doc string) Setting {
	return Setting{Name: name, Default: library.DefaultTemplate, Doc: doc, set: func(v string) (err error) {
		*into, err = library.ParseTemplate(v)
		return err
	}}
}

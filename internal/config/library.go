package config

import "stagecoach/internal/library"

// Library says where the books' files are, and how long torrents stay after their files are there.
type Library struct {
	Dir       string // empty: there is no library folder
	Template  library.Template
	SeedRatio float64 // minimum share ratio before a torrent is removed; 0: it stays
	SeedDays  int     // minimum days of seeding before a torrent is removed; 0: it stays
}

func (c *Config) librarySettings() []Setting {
	return []Setting{
		only(withoutWallet, text(&c.Library.Dir, "STAGECOACH_LIBRARY_DIR", "", "the library folder, at the same path for API and workers: workers import downloads into it, as hard links if it shares file system and mount with qBittorrent's folder, otherwise as copies, and books are sent to chats and served at /opds from it; empty: downloads stay in qBittorrent's folder")),
		{
			Name: "STAGECOACH_LIBRARY_TEMPLATE", Default: library.DefaultTemplate, Only: withTorrents,
			Doc: "the path of a medium in the library folder: {author}, {title}, {medium} (text or audio), {id} of the book, and {ext}; several files go into a folder of that name without the extension",
			set: func(v string) (err error) {
				c.Library.Template, err = library.ParseTemplate(v)
				return err
			},
		},
		only(withTorrents, number(&c.Library.SeedRatio, "STAGECOACH_SEED_RATIO", "0", "a torrent whose medium is in the library folder is removed with its files when it is shared to this ratio; 0: it stays")),
		only(withTorrents, integer(&c.Library.SeedDays, "STAGECOACH_SEED_DAYS", "0", 0, 3650, "or when it is shared for this many days; 0: it stays")),
	}
}

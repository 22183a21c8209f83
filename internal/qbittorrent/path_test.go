package qbittorrent

import "testing"

func TestBelow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ folder, file, rest string }{ // no rest: elsewhere
		{"/books", "/books/job-1", "job-1"},
		{"/books/", "/books/job-1/", "job-1"},
		{"/books", "/books", "."},
		{"/", "/job-1", "job-1"},
		{"/books", "/books/a/../job-1", "job-1"},
		{"/books", `/books/a\b`, `a\b`},
		{"/books", "/Books/job-1", ""},
		{"/books", "/books2/job-1", ""},
		{"/books", "/books/../job-1", ""},
		{"/books", "/books/../../etc", ""},
		{"/books", "books/job-1", ""},
		{"/books", `D:\books\job-1`, ""},
		{"/books", `\books\job-1`, ""},

		{`D:\Downloads`, `D:\Downloads\job-1`, "job-1"},
		{`D:\Downloads\`, `D:\Downloads\job-1\`, "job-1"},
		{`D:\Downloads`, `d:/downloads/Job-1/A b.epub`, "Job-1/A b.epub"},
		{"d:/downloads/", `D:\Downloads\job-1`, "job-1"},
		{`D:\Downloads`, `D:/Downloads\a/b\\c`, "a/b/c"},
		{`D:\`, `D:\job-1`, "job-1"},
		{"D:", `D:\job-1`, "job-1"},
		{`D:\Загрузки`, `d:\загрузки\job-1`, "job-1"},
		{`\\nas\Media\dl`, `\\NAS\media\dl\job-1`, "job-1"},
		{`\\nas\media\dl`, `//nas/media/dl/job-1`, "job-1"},
		{`\\?\D:\Downloads`, `D:\Downloads\job-1`, "job-1"},
		{`D:\Downloads`, `\\?\D:\Downloads\job-1`, "job-1"},
		{`\\?\UNC\nas\media`, `\\nas\media\job-1`, "job-1"},
		{`D:\Downloads`, `D:\Downloads`, "."},
		{`D:\Downloads`, `E:\Downloads\job-1`, ""},
		{`D:\Downloads`, `D:\Downloads2\job-1`, ""},
		{`D:\Downloads`, `D:\Downloads\..\job-1`, ""},
		{`D:\Downloads`, `D:\Downloads\..\..\etc\passwd`, ""},
		{`D:\Downloads`, `D:\Downloads/..\..\..\etc`, ""},
		{`D:\Downloads`, `Downloads\job-1`, ""},
		{`D:\Downloads`, "/Downloads/job-1", ""},
		{`\\nas\media`, `\\disk\media\job-1`, ""},
		{`\\nas\media`, `\\nas\media\..\private`, ""},
	} {
		rest, below := Below(c.folder, c.file)
		if below != (c.rest != "") || below && rest != c.rest {
			t.Errorf("%s below %s: %q %t, want %q", c.file, c.folder, rest, below, c.rest)
		}
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]string{
		"/books": "/books/job-1", "/books/": "/books/job-1", "/": "/job-1", `/a\`: `/a\/job-1`, `D:\Books`: `D:\Books\job-1`,
		`D:\Books\`: `D:\Books\job-1`, "D:/Books/": "D:/Books/job-1", `D:\`: `D:\job-1`, `\\nas\books\`: `\\nas\books\job-1`,
	} {
		got := Within(folder, "job-1")
		if got != want {
			t.Errorf("%s: %s, want %s", folder, got, want)
		}
		if rest, below := Below(folder, got); !below || rest != "job-1" {
			t.Errorf("%s is not below %s", got, folder)
		}
	}
}

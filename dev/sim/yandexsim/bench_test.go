package yandexsim

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

const diskBenchSize = 256 << 20

func BenchmarkYandexDownload(b *testing.B) {
	y, base := yandexTest(b, nil)
	if err := os.WriteFile(filepath.Join(y.options.Dir, "big"), nil, 0o644); err != nil {
		b.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(y.options.Dir, "big"), diskBenchSize); err != nil {
		b.Fatal(err)
	}

	b.SetBytes(diskBenchSize)
	for b.Loop() {
		response, err := http.Get(downloadLink(b, base, "big"))
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if err != nil || n != diskBenchSize {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkYandexListing(b *testing.B) {
	for _, query := range []string{"sort=name", "sort=-modified", "sort=size&limit=200"} {
		b.Run(query, func(b *testing.B) {
			y, base := yandexTest(b, nil)
			for i := range 10_000 {
				name := filepath.Join(y.options.Dir, fmt.Sprintf("file-%05d.txt", i))
				if err := os.WriteFile(name, []byte(name), 0o644); err != nil {
					b.Fatal(err)
				}
			}

			for b.Loop() {
				if status, body := disk(b, base, "/v1/disk/resources?path=/&"+query); status != http.StatusOK {
					b.Fatal(string(body))
				}
			}
		})
	}
}

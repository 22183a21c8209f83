package sim

import (
	"crypto/rand"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

const benchSize = 256 << 20

func BenchmarkTelegramUploadDiscard(b *testing.B) { benchmarkUpload(b, true) }
func BenchmarkTelegramUploadKeep(b *testing.B)    { benchmarkUpload(b, false) }

func benchmarkUpload(b *testing.B, discard bool) {
	_, base := telegramTest(b, func(o *TelegramOptions) { o.DiscardFiles = discard })
	piece := make([]byte, 32<<10)
	_, _ = rand.Read(piece) // the multipart reader is slowest on zeros, and films are not
	b.SetBytes(benchSize)
	for b.Loop() {
		in, out := io.Pipe()
		w := multipart.NewWriter(out)
		go func() {
			_ = w.WriteField("chat_id", "7")
			f, _ := w.CreateFormFile("document", "a.bin")
			for range benchSize / len(piece) {
				_, _ = f.Write(piece)
			}
			_ = out.CloseWithError(w.Close())
		}()
		response, err := http.Post(base+"sendDocument", w.FormDataContentType(), in)
		if err != nil {
			b.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			b.Fatal(response.Status)
		}
	}
}

func BenchmarkYandexDownload(b *testing.B) {
	y, base := yandexTest(b, nil)
	if err := os.WriteFile(filepath.Join(y.options.Dir, "big"), nil, 0o644); err != nil {
		b.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(y.options.Dir, "big"), benchSize); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(benchSize)
	for b.Loop() {
		response, err := http.Get(downloadLink(b, base, "big"))
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if err != nil || n != benchSize {
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

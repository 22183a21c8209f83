package telegramsim

import (
	"crypto/rand"
	"io"
	"mime/multipart"
	"net/http"
	"testing"
)

const benchSize = 256 << 20

func BenchmarkTelegramUploadDiscard(b *testing.B) { benchmarkUpload(b, true) }
func BenchmarkTelegramUploadKeep(b *testing.B)    { benchmarkUpload(b, false) }

func benchmarkUpload(b *testing.B, discard bool) {
	_, base := telegramTest(b, func(o *Options) { o.DiscardFiles = discard })
	piece := make([]byte, 32<<10)
	_, _ = rand.Read(piece) // the multipart reader is slowest on zeros, which files do not consist of
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

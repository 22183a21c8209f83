package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"stagecoach/dev/sim/telegramsim"
	"stagecoach/internal/store"
)

// randomFile puts a file of random bytes into the storage and gives its entry and its sha256.
func (r *rig) randomFile(ctx context.Context, size int64) (store.File, string, error) {
	var seed [32]byte
	rand.Read(seed[:])
	return r.file(ctx, size, func(f *os.File, sum io.Writer) error {
		_, err := io.CopyBuffer(io.MultiWriter(f, sum), io.LimitReader(mathrand.NewChaCha8(seed), size), make([]byte, 1<<20))
		return err
	})
}

// sparseFile puts a file of zeros that need no disk into the storage.
func (r *rig) sparseFile(ctx context.Context, size int64) (store.File, string, error) {
	return r.file(ctx, size, func(f *os.File, sum io.Writer) error {
		if err := f.Truncate(size); err != nil {
			return err
		}
		_, err := io.Copy(sum, f)
		return err
	})
}

func (r *rig) file(ctx context.Context, size int64, fill func(*os.File, io.Writer) error) (store.File, string, error) {
	name := fmt.Sprintf("file-%d.bin", r.serial.Add(1))
	f, err := os.Create(filepath.Join(r.files, name))
	if err != nil {
		return store.File{}, "", err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if err := fill(f, sum); err != nil {
		return store.File{}, "", err
	}
	if size > 1<<20 { // nothing is written back while something is measured
		if err := f.Sync(); err != nil {
			return store.File{}, "", err
		}
	}
	saved, err := r.store.SaveFiles(ctx, []store.File{{Path: "/" + name, Parent: "/", Name: name, Size: size, ModifiedAt: time.Now()}})
	if err != nil {
		return store.File{}, "", err
	}
	return saved[0], hex.EncodeToString(sum.Sum(nil)), nil
}

// checkChat fails unless the chat has received want documents, all with the sum.
func (r *rig) checkChat(ctx context.Context, chat int64, want int, sum string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/_/chats/%d", r.telegramURL, chat), nil)
	if err != nil {
		return err
	}
	var seen telegramsim.Chat
	if err := answer(request, &seen); err != nil {
		return err
	}
	got := 0
	for _, message := range seen.Messages {
		if message.Document == nil {
			continue
		}
		if got++; message.Document.SHA256 != sum {
			return fmt.Errorf("a document arrived with the sha256 %s instead of %s", message.Document.SHA256, sum)
		}
	}
	if got != want {
		return fmt.Errorf("%d documents arrived instead of %d", got, want)
	}
	return nil
}

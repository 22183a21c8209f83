package demo

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"stagecoach/dev/stack"
)

// makeDemoFile creates the demo's file, always with the same content, unless it exists.
func makeDemoFile(folder string) (err error) {
	name := filepath.Join(folder, demoFile)
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	// It is written beside the folder and moved once it is complete: a file in the folder may be listed at any moment.
	fresh, err := os.Create(filepath.Join(filepath.Dir(folder), demoFile))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(fresh.Name())
		}
	}()

	content := io.LimitReader(rand.NewChaCha8([32]byte([]byte("Stagecoach's demo file, 64 MiB.\n"))), demoSize)
	buffer := bufio.NewWriterSize(fresh, 1<<20)
	_, err = io.Copy(buffer, content)
	if err = errors.Join(err, buffer.Flush(), fresh.Close()); err != nil {
		return err
	}

	return os.Rename(fresh.Name(), name)
}

// verified checks with --once that the chat of the demo user holds every delivered file: a document of the same size
// and SHA-256 for each.
func (f *dropFolder) verified(results []result) ([]result, error) {
	if !f.verify {
		return results, nil
	}

	type content struct {
		size int64
		hash string
	}

	held := map[content]int{}
	for _, m := range f.stack.Telegram.Chat(stack.DemoUser).Messages {
		if m.Document != nil && !m.Deleted {
			held[content{m.Document.Size, m.Document.SHA256}]++
		}
	}

	for i, r := range results {
		if r.problem != "" {
			continue
		}

		size, hash, err := digest(filepath.Join(f.stack.DropFolder(), filepath.FromSlash(r.name)))
		if err != nil {
			return nil, err
		}

		if held[content{size, hash}] == 0 {
			results[i].problem = fmt.Sprintf("the chat has no document of %d bytes with SHA-256 %s", size, hash)
		}

		held[content{size, hash}]--
	}

	return results, nil
}

// digest returns a file's size and SHA-256, in lower-case hex.
func digest(name string) (size int64, hash string, err error) {
	file, err := os.Open(name)
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	sum := sha256.New()
	size, err = io.Copy(sum, file)
	return size, hex.EncodeToString(sum.Sum(nil)), err
}

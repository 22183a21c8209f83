package torrentsim

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/anacrolix/torrent/bencode"
)

// TorrentKind is the version of the format.
type TorrentKind int

// The versions of the format. A hybrid one has both info hashes.
const (
	TorrentV1 TorrentKind = iota
	TorrentV2
	TorrentHybrid
)

// blockSize is the leaf of the hash trees of version 2.
const blockSize = 16 << 10

// make fills in the .torrent file and the hashes; seed is the web seed's URL, or empty.
func (t *SeededTorrent) make(spec TorrentSpec, contents []content, seed string) error {
	var all []byte
	for _, c := range contents {
		all = append(all, c.data...)
	}

	t.Size = int64(len(all))
	pieceLength := 32 << 10
	for len(all)/pieceLength > 2000 {
		pieceLength *= 2
	}

	info := map[string]any{"name": spec.Name, "piece length": pieceLength}
	file := map[string]any{}
	if spec.Kind != TorrentV2 {
		var pieces []byte
		for piece := range slices.Chunk(all, pieceLength) {
			sum := sha1.Sum(piece)
			pieces = append(pieces, sum[:]...)
		}

		info["pieces"] = string(pieces)
		if spec.Files == nil {
			info["length"] = len(all)
		} else {
			info["files"] = fileList(contents)
		}
	}

	if spec.Kind != TorrentV1 {
		root, layer := hashTree(all, pieceLength)
		info["meta version"] = 2
		info["file tree"] = map[string]any{spec.Name: map[string]any{"": map[string]any{
			"length": len(all), "pieces root": string(root),
		}}}
		layers := map[string]string{}
		if layer != nil {
			layers[string(root)] = string(layer)
		}
		file["piece layers"] = layers
	}

	encoded, err := bencode.Marshal(info)
	if err != nil {
		return err
	}

	file["info"] = bencode.Bytes(encoded)
	if seed != "" {
		file["url-list"] = seed
	}

	if t.File, err = bencode.Marshal(file); err != nil {
		return err
	}

	if spec.Kind != TorrentV2 {
		sum := sha1.Sum(encoded)
		t.InfohashV1 = hex.EncodeToString(sum[:])
	}

	if spec.Kind != TorrentV1 {
		sum := sha256.Sum256(encoded)
		t.InfohashV2 = hex.EncodeToString(sum[:])
	}

	if spec.Files == nil {
		sum := sha256.Sum256(all)
		t.SHA256 = hex.EncodeToString(sum[:])
	}
	return nil
}

// fileList describes several files as version 1 does.
func fileList(contents []content) []any {
	var list []any
	for _, c := range contents {
		list = append(list, map[string]any{"length": len(c.data), "path": strings.Split(c.path, "/")})
	}
	return list
}

// hashTree returns the root of the hash tree over the data, and the hashes of its pieces when it has more than one.
func hashTree(data []byte, pieceLength int) (root, layer []byte) {
	var leaves [][]byte
	for block := range slices.Chunk(data, blockSize) {
		sum := sha256.Sum256(block)
		leaves = append(leaves, sum[:])
	}

	zero := make([]byte, sha256.Size)
	if len(data) <= pieceLength {
		return rootOf(leaves, powerAbove(len(leaves)), zero), nil
	}

	perPiece := pieceLength / blockSize
	var pieces [][]byte
	for piece := range slices.Chunk(leaves, perPiece) {
		pieces = append(pieces, rootOf(piece, perPiece, zero))
	}
	return rootOf(pieces, powerAbove(len(pieces)), rootOf(nil, perPiece, zero)), slices.Concat(pieces...)
}

// rootOf hashes a row in pairs until one is left; padding extends the row to a width that is a power of two.
func rootOf(row [][]byte, width int, padding []byte) []byte {
	row = slices.Clone(row)
	for len(row) < width {
		row = append(row, padding)
	}

	for len(row) > 1 {
		var above [][]byte
		for pair := range slices.Chunk(row, 2) {
			sum := sha256.Sum256(slices.Concat(pair[0], pair[1]))
			above = append(above, sum[:])
		}
		row = above
	}

	return row[0]
}

// powerAbove is the smallest power of two that is not below n.
func powerAbove(n int) int {
	power := 1
	for power < n {
		power *= 2
	}
	return power
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

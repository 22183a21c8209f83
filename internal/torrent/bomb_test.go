package torrent

import (
	"runtime"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

// bombs are files of 10 MB that are cheap to read and, taken for data, hundreds of times as large in memory.
var bombs = map[string]string{
	"empty entries":  "d4:infod5:filesl" + strings.Repeat("de", 5_200_000) + "e4:name1:a12:piece lengthi16384e6:pieces20:pppppppppppppppppppp" + "ee",
	"small entries":  "d4:infod5:filesl" + strings.Repeat("d6:lengthi1e4:pathl1:aee", 430_000) + "e4:name1:a12:piece lengthi16384e6:pieces20:pppppppppppppppppppp" + "ee",
	"empty paths":    "d4:infod5:filesld6:lengthi1e4:pathl" + strings.Repeat("0:", 5_200_000) + "eee4:name1:a12:piece lengthi16384e6:pieces20:pppppppppppppppppppp" + "ee",
	"empty trackers": "d13:announce-listl" + strings.Repeat("le", 5_200_000) + "e4:infod6:lengthi5e4:name1:a12:piece lengthi16384e6:pieces20:pppppppppppppppppppp" + "ee",
	"many keys":      "d" + strings.Repeat("2:abi1e", 1_400_000) + "4:infod6:lengthi5e4:name1:a12:piece lengthi16384e6:pieces20:ppppppppppppppppppppee",
	"nested lists":   "d4:info" + strings.Repeat("l", 10<<20),
}

var refused = map[string]fault.Code{
	"empty entries": fault.SourceNotTorrent, "nested lists": fault.SourceNotTorrent,
	"small entries": fault.TorrentTooLarge, "empty paths": fault.TorrentTooLarge,
}

// TestBombs reads them for less than a megabyte: whatever the garbage collector does, no more than everything allocated
// can ever be in use. It does not run beside other tests, whose memory it would count.
func TestBombs(t *testing.T) {
	for name, file := range bombs {
		content := []byte(file)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := Identify(content)
		runtime.ReadMemStats(&after)
		if cost := after.TotalAlloc - before.TotalAlloc; cost > 1<<20 {
			t.Errorf("%s: %d MiB for %d", name, cost>>20, len(content)>>20)
		}
		if got := fault.CodeOf(err); got != refused[name] {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package words_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
)

func TestShorten(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"short.txt": "short.txt",
		"a very long name of a document, part 2.pdf": "a very long…rt 2.pdf",
		strings.Repeat("я", 30) + ".jpeg":            "яяяяяяяяяя…яяяя.jpeg",
		strings.Repeat("🚀", 21):                      "🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀…🚀🚀🚀🚀",
		"." + strings.Repeat("e", 40):                ".eeeeeeee…eeeeeeeeee",
	} {
		if got := words.Shorten(name, 20); got != want {
			t.Errorf("Shorten(%q) = %q, not %q", name, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64][2]string{
		0: {"0 B", "0 Б"}, 1023: {"1023 B", "1023 Б"}, 1024: {"1.0 KB", "1,0 КБ"}, 1536: {"1.5 KB", "1,5 КБ"},
		1<<20 - 1: {"1.0 MB", "1,0 МБ"}, 2_097_152_000: {"2.0 GB", "2,0 ГБ"}, 500 << 20: {"500 MB", "500 МБ"},
	} {
		if got := [2]string{words.Size(words.English, bytes), words.Size(words.Russian, bytes)}; got != want {
			t.Errorf("%d bytes are %v, not %v", bytes, got, want)
		}
	}
}

func TestTimesForPeople(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[int64]string{
		0: "0 s", 59: "59 s", 60: "1 min", 3569: "59 min", 3570: "1 h 0 min", 7325: "2 h 2 min", 86369: "23 h 59 min",
		86400: "1 d 0 h", 172799: "2 d 0 h",
	} {
		if got := words.Duration(words.English, seconds); got != want {
			t.Errorf("%d s: %q, want %q", seconds, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1\u00a0000", -1000: "-1\u00a0000", -100: "-100", 10_000_000: "10\u00a0000\u00a0000",
	} {
		if got := words.Number(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// TestCounted formats how many are in each state: some Russian state names are singular, and have another form for
// many.
func TestCounted(t *testing.T) {
	t.Parallel()
	for state, want := range map[lifecycle.TaskState][2]string{
		lifecycle.TaskNew: {"new: 3", "новых: 3"}, lifecycle.TaskBlocked: {"blocked: 3", "заблокировано: 3"},
		lifecycle.TaskInProgress: {"in progress: 3", "в работе: 3"}, lifecycle.TaskStuck: {"stuck: 3", "застряло: 3"},
	} {
		for i, language := range []string{words.English, words.Russian} {
			if got := words.Counted(language, words.TaskStates[state], 3); got != want[i] {
				t.Errorf("%s: %q", language, got)
			}
		}
	}

	one := regexp.MustCompile(`(ая|а|ется|ает): `)
	states := slices.Concat(
		slices.Collect(maps.Values(words.TaskStates)), slices.Collect(maps.Values(words.DeliveryStates)),
		slices.Collect(maps.Values(words.DownloadStates)), slices.Collect(maps.Values(words.TransactionStates)),
	)
	for _, state := range states {
		if got := words.Counted(words.Russian, state, 3); one.MatchString(got) {
			t.Errorf("%q stands for one", got)
		}
	}
}

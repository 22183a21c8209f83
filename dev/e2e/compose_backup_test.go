package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestComposeBacksUpEachNight runs the backup profile's script with programs that fail once: it retries, deletes old
// files, waits for the night, and makes no second backup meanwhile.
func TestComposeBacksUpEachNight(t *testing.T) {
	t.Parallel()
	for of, test := range map[string]struct {
		hour int
		made []string
	}{
		"record": {3, []string{"stagecoach"}}, "temporal": {2, []string{"temporal", "temporal_visibility"}},
	} {
		dir := t.TempDir()
		backups := filepath.Join(dir, "backups")
		must(t, os.Mkdir(backups, 0o755))
		// pg_dump's file is its seventh argument, and that of starter its second.
		fails := "#!/bin/sh\n[ -e " + dir + "/failed ] || { touch " + dir + "/failed ; exit 1 ; }\n"
		for name, program := range map[string]string{
			"starter": fails + `[ "$3 $4" = "--to age1ours" ] && echo backup >"$2"`,
			"pg_dump": fails + `[ "$PGPASSWORD" = of-temporal ] && echo backup >"$7"`,
			"sleep":   "#!/bin/sh\necho \"$1\" >>" + dir + "/slept\n[ \"$1\" = 600 ] || kill $PPID", // nightfall ends the script
		} {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(program), 0o755))
		}
		must(t, os.WriteFile(filepath.Join(dir, "postgres_password"), []byte("of-temporal"), 0o600))
		for _, name := range test.made {
			old := filepath.Join(backups, name+"-2020-01-01"+map[string]string{"record": ".age", "temporal": ".dump"}[of])
			must(t, os.WriteFile(old, nil, 0o600))
			must(t, os.Chtimes(old, time.Time{}, time.Now().AddDate(0, 0, -16)))
		}

		script := strings.NewReplacer("/backups", backups, "/run/secrets", dir).Replace(composeConfig(t, "backup"))
		for range 2 {
			command := exec.CommandContext(t.Context(), "sh", "-c", script, "backup.sh", of)
			command.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "BACKUP_TO=age1ours"}
			_ = command.Run() // killed
		}

		slept, err := os.ReadFile(filepath.Join(dir, "slept"))
		must(t, err)
		waits := strings.Fields(string(slept))
		if len(waits) != 3 || waits[0] != "600" {
			t.Fatalf("%s waits for %v", of, waits)
		}
		seconds, err := strconv.Atoi(waits[2])
		must(t, err)
		if next := time.Now().UTC().Add(time.Duration(seconds) * time.Second); next.Add(time.Minute).Hour() != test.hour || seconds > 86400 {
			t.Errorf("%s: the next backup is at %s", of, next)
		}

		var made []string
		entries, err := os.ReadDir(backups)
		must(t, err)
		for _, entry := range entries {
			info, err := entry.Info()
			must(t, err)
			if name := regexp.MustCompile(`^(\w+)-\d{4}-\d\d-\d\d\.(age|dump)$`).FindStringSubmatch(entry.Name()); name == nil || info.Size() == 0 {
				t.Errorf("%s: there is %s", of, entry.Name())
			} else {
				made = append(made, name[1])
			}
		}
		if !slices.Equal(made, test.made) {
			t.Errorf("%s has made %v", of, made)
		}
	}
}

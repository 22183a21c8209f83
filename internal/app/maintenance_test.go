package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"stagecoach/dev/testdb"
)

// TestNewerSchemaIsReported migrates a database that a newer release has already migrated: the program reports that,
// and continues.
func TestNewerSchemaIsReported(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	migrated := func() string {
		t.Helper()
		var said bytes.Buffer
		if err := Migrate(t.Context(), url, "", slog.New(slog.NewJSONHandler(&said, nil))); err != nil {
			t.Fatal(err)
		}
		return said.String()
	}

	if said := migrated(); said != "" {
		t.Errorf("of its own schema the program says %s", said)
	}
	newer := `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)`
	if _, err := testdb.Connect(t, url).Exec(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	if said := migrated(); !strings.Contains(said, `"schema":99999`) || !strings.Contains(said, "newer release") {
		t.Errorf("of a newer schema the program says %q", said)
	}
}

package testdb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"stagecoach/dev/smalldisk"
)

// OnSmallDisk returns the address of a migrated database on its own disk, which the test may fill.
func OnSmallDisk(t testing.TB) (string, smalldisk.Disk) {
	t.Helper()
	disk := smalldisk.New(t, 64)
	s, err := shared()
	if err != nil {
		t.Fatalf("PostgreSQL for the tests: %v", err)
	}

	data, err := os.Stat(filepath.Join(s.dir, "data")) // of the server's account
	if err != nil {
		t.Fatal(err)
	}
	owner := data.Sys().(*syscall.Stat_t)
	if err := os.Chown(disk.Dir, int(owner.Uid), int(owner.Gid)); err != nil {
		t.Fatal(err)
	}

	space := fmt.Sprintf("disk_%d", serial.Add(1))
	if err := s.exec(t.Context(), fmt.Sprintf("CREATE TABLESPACE %s LOCATION '%s'", space, disk.Dir)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.exec(context.WithoutCancel(t.Context()), "DROP TABLESPACE "+space); err != nil {
			t.Error(err)
		}
	})

	return database(t, func(s *server, ctx context.Context, name string) error {
		if err := s.copyTemplate(ctx, name); err != nil {
			return err
		}
		return s.exec(ctx, fmt.Sprintf("ALTER DATABASE %s SET TABLESPACE %s", pgx.Identifier{name}.Sanitize(), space))
	}), disk
}

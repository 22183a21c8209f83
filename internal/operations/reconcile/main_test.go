package reconcile

import (
	"testing"

	"stagecoach/dev/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

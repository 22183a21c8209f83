package transaction_test

import (
	"testing"

	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
)

func TestMain(m *testing.M) { testdb.Main(m, testtemporal.Stop) }

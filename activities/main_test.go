package activities_test

import (
	"testing"

	"stagecoach/internal/testdb"
	"stagecoach/internal/testtemporal"
)

func TestMain(m *testing.M) { testdb.Main(m, testtemporal.Stop) }

package operations

import (
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/task"
	"stagecoach/internal/store/transaction"
)

// Parts lists the workloads of the record, in the order of lifecycle.Workloads.
var Parts = []core.Part{delivery.Part, task.Part, download.Part, transaction.Part}

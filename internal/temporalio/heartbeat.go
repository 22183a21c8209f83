package temporalio

import (
	"time"
)

const HeartbeatEvery = 3 * time.Second

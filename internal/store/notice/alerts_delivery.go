package notice

import "stagecoach/internal/store/core"

// AlertStuckJobs is about claimed deliveries without a heartbeat.
const AlertStuckJobs = "deliveries_stuck"

var DeliveryAlerts = []core.AlertKind{{Name: AlertStuckJobs, Severity: core.Warn}}

package notice

// AlertStuckJobs is about held deliveries without a heartbeat.
const AlertStuckJobs = "deliveries_stuck"

// DeliveryAlerts lists the kinds of alerts about deliveries.
var DeliveryAlerts = []string{AlertStuckJobs}

package notice

// AlertStuckJobs tells of deliveries in workers' hands without a heartbeat.
const AlertStuckJobs = "deliveries_stuck"

// DeliveryAlerts lists the kinds of alerts about deliveries.
var DeliveryAlerts = []string{AlertStuckJobs}

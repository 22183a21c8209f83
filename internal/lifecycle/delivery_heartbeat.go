package lifecycle

// DeliveryHeartbeat is what a heartbeat carries.
type DeliveryHeartbeat struct {
	Stage     DeliveryState `json:"stage"`
	Bytes     int64         `json:"bytes"`
	MessageID int64         `json:"message_id,omitempty"`
}

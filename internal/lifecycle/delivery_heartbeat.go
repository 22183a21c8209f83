package lifecycle

// DeliveryHeartbeat is the payload of a heartbeat.
type DeliveryHeartbeat struct {
	Stage     DeliveryState `json:"stage"`
	Bytes     int64         `json:"bytes"`
	MessageID int64         `json:"message_id,omitempty"`
}

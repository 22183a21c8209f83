package rest

// Keyed is what a changing request may bring, so that it can be sent again when its answer was lost.
type Keyed struct {
	Key string `header:"Idempotency-Key" pattern:"^[!-~]{1,255}$" patternDescription:"1 to 255 visible ASCII characters" example:"b5f0" doc:"The same key with the same request again gives the first answer, and changes nothing"`
}

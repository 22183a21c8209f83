package words

import "maps"

// Texts are the texts about one workload, or about none, that are found by a code or a name.
type Texts struct {
	Faults     Faults
	Quotas     map[string]Text // which limit is reached, by its name; each takes the limit
	Alerts     map[string]Text // that an incident has begun, by its kind
	AlertsOver map[string]Text // that it is over
}

// NewTexts makes texts that others can be added to.
func NewTexts(all ...Texts) Texts {
	made := Texts{Faults: Faults{}, Quotas: map[string]Text{}, Alerts: map[string]Text{}, AlertsOver: map[string]Text{}}
	for _, texts := range all {
		made.Add(texts)
	}
	return made
}

// Add adds the texts of another workload.
func (t *Texts) Add(more Texts) {
	maps.Copy(t.Faults, more.Faults)
	maps.Copy(t.Quotas, more.Quotas)
	maps.Copy(t.Alerts, more.Alerts)
	maps.Copy(t.AlertsOver, more.AlertsOver)
}

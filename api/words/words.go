package words

import "maps"

// Texts are texts about one workload, or about none, that are looked up by a code or a name.
type Texts struct {
	Faults     Faults
	Quotas     map[string]Text // the reached limit, by name; each takes the number
	Alerts     map[string]Text // an incident has begun, by its kind
	AlertsOver map[string]Text // it is over
}

// NewTexts returns texts to which others can be added.
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

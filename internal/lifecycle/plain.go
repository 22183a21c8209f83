package lifecycle

// AnyTable is a table of any types.
type AnyTable interface {
	StateNames() []string
	Plain() Table[string, string, any]
}

// StateNames lists all states, in the table's order.
func (t Table[S, A, F]) StateNames() (names []string) {
	for _, s := range t.States {
		names = append(names, string(s.State))
	}
	return names
}

// Plain returns the table in the form that documents use. Its guards have no conditions.
func (t Table[S, A, F]) Plain() Table[string, string, any] {
	plain := Table[string, string, any]{Entity: t.Entity}
	for _, s := range t.States {
		plain.States = append(plain.States, State[string]{string(s.State), s.Means, s.LeftBy, s.Terminal})
	}

	for _, r := range t.Rules {
		rule := Rule[string, string, any]{
			Action: string(r.Action), From: texts(r.From), To: string(r.To), Who: r.Who, Event: r.Event, Effect: r.Effect,
		}
		for _, guard := range r.Guards {
			rule.Guards = append(rule.Guards, Guard[any]{Name: guard.Name, Code: guard.Code})
		}
		plain.Rules = append(plain.Rules, rule)
	}

	return plain
}

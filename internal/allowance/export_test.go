package allowance

// Remembered is the number of remembered keys.
func (r *Rates[K]) Remembered() int { return len(r.limiters) }

package allowance

// Remembered is how many keys are remembered.
func (r *Rates[K]) Remembered() int { return len(r.limiters) }

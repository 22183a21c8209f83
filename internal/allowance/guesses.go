package allowance

import "time"

const known = time.Hour

// Guesses limits how many requests with a wrong token or session one network address may make in this process. Valid
// ones do not count, and one that was valid within the last hour is never refused: users behind one proxy share its
// address with an attacker. It is safe for concurrent use.
type Guesses struct {
	wrong *Addresses
	right *secrets // until when they need no allowance
}

// NewGuesses makes a limit of this many wrong secrets per second; 0: none.
func NewGuesses(perSecond int) *Guesses {
	return &Guesses{wrong: NewAddresses(LimitWrongTokens, perSecond), right: newSecrets()}
}

// Check refuses a secret from an address that has sent too many wrong ones, with RATE_LIMITED.
func (g *Guesses) Check(remote, secret string) error {
	if time.Now().Before(g.right.until(secret)) {
		return nil
	}
	return g.wrong.refusal(g.wrong.rates.Check(Network(remote)))
}

// Right remembers a valid secret.
func (g *Guesses) Right(secret string) {
	if g.wrong.rate.Burst > 0 {
		g.right.put(secret, time.Now().Add(known))
	}
}

// Wrong counts an invalid secret.
func (g *Guesses) Wrong(remote, secret string) {
	g.right.drop(secret) // it was revoked
	if g.wrong.rate.Burst > 0 {
		g.wrong.rates.Spend(Network(remote), g.wrong.rate)
	}
}

package account

import "regexp"

var secrets = regexp.MustCompile(`^[A-Z2-7]{52}$`)

// IsSecret says whether a text may be one that NewSecret has made.
func IsSecret(text string) bool { return secrets.MatchString(text) }

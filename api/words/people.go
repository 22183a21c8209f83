package words

import "fmt"

// Person replaces a name that the reader may not know. It takes the user's number.
var Person = Text{"user %v", "пользователь %v"}

// NameOf is a display name: an agent's own and its owner's.
func NameOf(name, owner string) string {
	if owner == "" {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, owner)
}

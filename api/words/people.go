package words

import "fmt"

// Person stands for a user whose name the reader may not know. It takes the user's number.
var Person = Text{"user %v", "пользователь %v"}

// NameOf is what people are called: an agent by its name and its owner's.
func NameOf(name, owner string) string {
	if owner == "" {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, owner)
}

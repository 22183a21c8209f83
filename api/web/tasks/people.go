package tasks

import (
	"cmp"
	"errors"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
)

// names are the names of a workspace's people by id, as far as one person may know them.
type names struct {
	known    map[string]string
	language string
}

// namesOf lists the names of members. Others only have a number.
func namesOf(r *site.Request, members []shape.Member) names {
	n := names{map[string]string{}, r.Language}
	for _, member := range members {
		n.known[member.UserID] = words.NameOf(member.Name, member.OwnerName)
	}
	n.known[shape.ID(r.Who.User.ID)] = words.You.In(r.Language)
	return n
}

// Of names a user; nil is the service in a history.
func (n names) Of(user *string) string {
	if user == nil {
		return words.TheService.In(n.language)
	}
	return cmp.Or(n.known[*user], words.Person.In(n.language, *user))
}

func members(r *site.Request, workspace string) ([]shape.Member, error) {
	list, err := site.Get[shape.Page[shape.Member]](r, workspacePath(workspace)+"/members"+most)
	return list.Items, err
}

// isCode reports whether the API refused a request with a code.
func isCode(err error, code fault.Code) bool {
	refusal, refused := errors.AsType[*client.Refusal](err)
	return refused && refusal.Code == code
}

package server

import (
	"context"
	"reflect"
	"strings"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// FieldScopes is the OpenAPI extension of an operation that lists the scopes of its fields.
const FieldScopes = "x-field-scopes"

// scopedField is a body field that starts something in another workload: a token that sets it needs the scope in its
// tag, in addition to the operation's.
type scopedField struct {
	name  string
	index []int
	scope account.Scope
}

// scopedFieldsOf lists the fields of a body type that have a scope.
func scopedFieldsOf(body reflect.Type) (fields []scopedField) {
	if body.Kind() != reflect.Struct {
		return nil
	}
	for _, field := range reflect.VisibleFields(body) {
		if scope, tagged := field.Tag.Lookup("scope"); tagged {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			fields = append(fields, scopedField{name, field.Index, account.Scope(scope)})
		}
	}
	return fields
}

// admitFields refuses a body that sets a field whose scope the token does not grant.
func (s *Server) admitFields(ctx context.Context, body reflect.Value, fields []scopedField) error {
	for _, field := range fields {
		if body.FieldByIndex(field.index).IsZero() {
			continue
		}
		if err := PrincipalOf(ctx).Require(field.scope); err != nil {
			s.audit(ctx, "", account.OutcomeRefused, "")
			return fault.As(err).WithField(field.name)
		}
	}
	return nil
}

package store_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"stagecoach/internal/store/task"
)

// TestEveryMethod calls every method of the store with a sample of each type, on a record that holds one of everything.
// Their results are for other tests: here their statements are sent, so that checkedRun compares the types of all
// parameters.
func TestEveryMethod(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.made(task.NewTask{}, task.NewTask{})
	called := 0

	for _, part := range reflect.VisibleFields(reflect.TypeOf(*o.Store)) {
		if !part.IsExported() {
			continue
		}

		methods := reflect.ValueOf(*o.Store).FieldByIndex(part.Index)
		for i := range methods.NumMethod() {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			call(ctx, methods.Method(i))
			cancel()
			called++
		}
	}

	if called < 250 {
		t.Errorf("the store has %d methods", called)
	}
}

// call calls a function with samples of its parameters. Nonsense may make it panic.
func call(ctx context.Context, f reflect.Value) {
	defer func() { _ = recover() }()
	var args []reflect.Value
	for i := range f.Type().NumIn() {
		args = append(args, sample(ctx, f.Type().In(i)))
	}
	if f.Type().IsVariadic() {
		f.CallSlice(args)
		return
	}
	f.Call(args)
}

// sample makes a value of a type with as much content as possible.
func sample(ctx context.Context, t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == reflect.TypeFor[context.Context]():
		v.Set(reflect.ValueOf(ctx))
	case t == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Now()))
	case t == reflect.TypeFor[time.Duration]():
		v.SetInt(int64(time.Second))
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	case v.CanFloat():
		v.SetFloat(1)
	case t.Kind() == reflect.Bool:
		v.SetBool(true)
	case t.Kind() == reflect.String:
		v.SetString("1")
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(sample(ctx, t.Elem()))
	case t.Kind() == reflect.Slice:
		v.Set(reflect.Append(v, sample(ctx, t.Elem())))
	case t.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(sample(ctx, t.Key()), sample(ctx, t.Elem()))
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(sample(ctx, t.Field(i).Type))
			}
		}
	case t.Kind() == reflect.Func:
		v.Set(reflect.MakeFunc(t, func([]reflect.Value) (results []reflect.Value) {
			for i := range t.NumOut() {
				results = append(results, reflect.Zero(t.Out(i)))
			}
			return results
		}))
	}

	return v
}

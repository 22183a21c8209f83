package store_test

import (
	"context"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"stagecoach/dev/testdb"
	"stagecoach/internal/store"
)

// checkedRun runs the package's tests, and then compares every statement they sent with PostgreSQL's types.
type checkedRun struct{ *testing.M }

func (r *checkedRun) Run() int {
	seen := &statements{types: map[string][]map[reflect.Type]bool{}, chosen: map[string]bool{}}
	store.Trace(seen)
	code := r.M.Run()
	if code != 0 || testing.Short() || flag.Lookup("test.list").Value.String() != "" || len(seen.types) == 0 {
		return code
	}

	faults := append(seen.mistyped(), seen.scans()...)
	if flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" {
		faults = append(faults, seen.missing()...)
	}

	for _, text := range faults {
		fmt.Println(text)
		code = 1
	}
	return code
}

// statements collects the statements of all tests with the Go types of their arguments.
type statements struct {
	mu     sync.Mutex
	types  map[string][]map[reflect.Type]bool // by statement, for each parameter
	chosen map[string]bool                    // planned for their values, each time
}

func (s *statements) add(sql string, args []any) {
	chosen := false
	if len(args) > 0 {
		switch args[0].(type) {
		case pgx.QueryResultFormatsByOID: // of database/sql, which migrates
			args = args[1:]
		case pgx.QueryExecMode:
			args, chosen = args[1:], true
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if chosen {
		s.chosen[sql] = true
	}

	known, found := s.types[sql]
	if !found {
		known = make([]map[reflect.Type]bool, len(args))
		s.types[sql] = known
	}

	for i, arg := range args {
		if known[i] == nil {
			known[i] = map[reflect.Type]bool{}
		}
		if arg != nil {
			known[i][reflect.TypeOf(arg)] = true
		}
	}
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.add(data.SQL, data.Args)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, query := range data.Batch.QueuedQueries {
		s.add(query.SQL, query.Arguments)
	}
	return ctx
}

func (s *statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// mistyped prepares every statement and lists the parameters whose PostgreSQL type differs from what the program
// passes: a number that is too large for it, or that it reads as a text, fails only on the day when someone sends it.
func (s *statements) mistyped() (faults []string) {
	ctx := context.Background()
	conn, err := connectTemplate(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	defer conn.Close(ctx)

	for _, sql := range slices.Sorted(maps.Keys(s.types)) {
		if len(s.types[sql]) == 0 {
			continue
		}

		prepared, err := conn.Prepare(ctx, "", sql)
		if err != nil {
			faults = append(faults, fmt.Sprintf("%v\n\t%s", err, sql))
			continue
		}

		for i, oid := range prepared.ParamOIDs {
			for passed := range s.types[sql][i] {
				if !fits(passed, oid) {
					faults = append(
						faults,
						fmt.Sprintf("$%d is %s for the program and %s for PostgreSQL:\n\t%s", i+1, passed, nameOf(conn, oid), sql),
					)
				}
			}
		}
	}

	return faults
}

// connectTemplate connects to the database of which the tests' are copies.
func connectTemplate(ctx context.Context) (*pgx.Conn, error) {
	url, err := testdb.Template()
	if err != nil {
		return nil, err
	}
	return pgx.Connect(ctx, url)
}

func nameOf(conn *pgx.Conn, oid uint32) string {
	if known, ok := conn.TypeMap().TypeForOID(oid); ok {
		return known.Name
	}
	return fmt.Sprint("type ", oid)
}

// fits reports whether every value of a Go type is valid for a PostgreSQL type.
func fits(passed reflect.Type, oid uint32) bool {
	for passed.Kind() == reflect.Pointer {
		passed = passed.Elem()
	}

	switch passed {
	case reflect.TypeFor[time.Time]():
		return oid == pgtype.TimestamptzOID
	case reflect.TypeFor[time.Duration]():
		return oid == pgtype.IntervalOID
	case reflect.TypeFor[[]time.Time]():
		return oid == pgtype.TimestamptzArrayOID
	case reflect.TypeFor[[][]byte]():
		return oid == pgtype.ByteaArrayOID
	case reflect.TypeFor[[]time.Duration]():
		return oid == pgtype.IntervalArrayOID
	}

	if oids, known := typesOf[passed.Kind()]; known {
		return slices.Contains(oids, oid)
	}

	switch {
	case passed.Kind() == reflect.Slice && passed.Elem().Kind() == reflect.Uint8:
		return slices.Contains([]uint32{pgtype.ByteaOID, pgtype.JSONOID, pgtype.JSONBOID}, oid)
	case passed.Kind() == reflect.Slice:
		element := passed.Elem()
		if element.Kind() == reflect.Pointer {
			element = element.Elem()
		}
		return slices.Contains(arraysOf[element.Kind()], oid)
	case passed.Kind() == reflect.Map || passed.Kind() == reflect.Struct:
		return oid == pgtype.JSONOID || oid == pgtype.JSONBOID
	default:
		return false
	}
}

// typesOf lists the PostgreSQL types allowed for the kinds. An int is a count of the program's own, such as an attempt,
// and fits an int4; ids, amounts and everything that people send are int64.
var (
	typesOf = map[reflect.Kind][]uint32{
		reflect.Bool:    {pgtype.BoolOID},
		reflect.Int:     {pgtype.Int8OID, pgtype.Int4OID},
		reflect.Int64:   {pgtype.Int8OID},
		reflect.Int32:   {pgtype.Int8OID, pgtype.Int4OID},
		reflect.Uint32:  {pgtype.Int8OID},
		reflect.Int16:   {pgtype.Int8OID, pgtype.Int4OID, pgtype.Int2OID},
		reflect.Float64: {pgtype.Float8OID},
		reflect.String:  {pgtype.TextOID},
	}
	arraysOf = map[reflect.Kind][]uint32{
		reflect.Bool:    {pgtype.BoolArrayOID},
		reflect.Int:     {pgtype.Int8ArrayOID, pgtype.Int4ArrayOID},
		reflect.Int64:   {pgtype.Int8ArrayOID},
		reflect.Float64: {pgtype.Float8ArrayOID},
		reflect.String:  {pgtype.TextArrayOID},
	}
)

var (
	isStatement = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH) `)
	verb        = regexp.MustCompile(`%[a-z]`)
)

// missing lists the statements of the package that no test has sent and that are therefore unchecked. Backups are left
// out: they run on their own databases, in their own tests.
func (s *statements) missing() (faults []string) {
	names, err := filepath.Glob("*/*.go")
	if err != nil {
		return []string{err.Error()}
	}
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") && filepath.Dir(name) != "backup" {
			faults = append(faults, s.missingIn(name)...)
		}
	}
	return faults
}

func (s *statements) missingIn(name string) (faults []string) {
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}

	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}

		text, err := strconv.Unquote(literal.Value)
		if err == nil && isStatement.MatchString(text) && !s.sent(text) {
			faults = append(
				faults, fmt.Sprintf("%s: no test sends this statement:\n\t%s", positions.Position(literal.Pos()), text),
			)
		}
		return true
	})

	return faults
}

// sent reports whether a text from the source, which may have placeholders, is part of a statement that a test has
// sent.
func (s *statements) sent(text string) bool {
	parts := verb.Split(text, -1)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}

	pattern := regexp.MustCompile("(?s)" + strings.Join(parts, ".*"))
	for sql := range s.types {
		if pattern.MatchString(sql) {
			return true
		}
	}
	return false
}

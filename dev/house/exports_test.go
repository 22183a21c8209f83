package house

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// forOthers are exported names that only tests use, with the reason why they stay.
var forOthers = map[string]string{
	"stagecoach/internal/store/operations.Parts().Policies":    "a test compares it with the settings",
	"stagecoach/internal/store/transaction.Store().GrantNext":  "tests of the queue make the step that a payment's end makes",
	"stagecoach/internal/store/account.Store().UserByUsername": "tests look at what SaveUsername has left of a name",
}

// TestNothingIsExportedForTests checks that code other than tests uses everything that a package of the product
// exports. It leaves out methods required by an interface and tagged fields, which are not used by name, names in the
// pages' templates, and constants, which are values of a set.
func TestNothingIsExportedForTests(t *testing.T) {
	t.Parallel()
	m := loadModule(t)
	exported, used, interfaces := map[string]token.Position{}, map[string]bool{}, map[string]bool{}
	for _, name := range []string{"encoding", "encoding/json", "fmt"} {
		known, err := m.importer.Import(name)
		if err != nil {
			t.Fatal(err)
		}
		noteInterfaces(known, interfaces)
	}
	for _, p := range m.packages {
		m.collect(t, p, exported, used, interfaces)
	}

	if len(exported) < 1000 {
		t.Fatalf("found %d exported names", len(exported))
	}

	drawn := namesInTemplates(t)
	for _, name := range slices.Sorted(maps.Keys(exported)) {
		method := name[strings.LastIndex(name, ".")+1:]
		if used[name] || strings.HasSuffix(name, "()."+method) && interfaces[method] || forOthers[name] != "" ||
			strings.HasPrefix(name, "stagecoach/api/web/") && drawn[method] {
			continue
		}
		t.Errorf("%s: %s is exported, but no code besides tests uses it", exported[name], name)
	}
}

// namesInTemplates returns the fields and methods that the pages' templates name.
func namesInTemplates(t *testing.T) map[string]bool {
	t.Helper()
	templates, err := filepath.Glob("../../api/web/*/templates/*.html")
	if err != nil || len(templates) < 10 {
		t.Fatalf("found %d templates: %v", len(templates), err)
	}

	names := map[string]bool{}
	for _, path := range templates {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`\.([A-Z]\w*)`).FindAllStringSubmatch(string(text), -1) {
			names[found[1]] = true
		}
	}

	return names
}

// module is this module as the go command lists it.
type module struct {
	packages []listed
	files    *token.FileSet
	importer types.Importer
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// loadModule lists the packages of the module, and resolves imports from the compiler's export data.
func loadModule(t *testing.T) *module {
	t.Helper()
	command := exec.CommandContext(
		t.Context(), "go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles", "./...",
	)
	command.Dir = filepath.Join("..", "..")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}

	m, exports := &module{files: token.NewFileSet()}, map[string]string{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}

		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, "stagecoach/") {
			m.packages = append(m.packages, p)
		}
	}

	m.importer = importer.ForCompiler(m.files, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	return m
}

// collect records what a package exports, which names of the module it uses, and the methods of the interfaces that it
// declares or may know.
func (m *module) collect(
	t *testing.T, p listed, exported map[string]token.Position, used, interfaces map[string]bool,
) {
	t.Helper()
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(m.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}

	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: m.importer}
	pkg, err := config.Check(p.ImportPath, m.files, files, info)
	if err != nil {
		t.Fatal(err)
	}

	for _, known := range append(pkg.Imports(), pkg) {
		noteInterfaces(known, interfaces)
	}
	for expr, tv := range info.Types {
		if _, ok := expr.(*ast.InterfaceType); ok {
			noteInterface(tv.Type, interfaces)
		}
	}

	if !strings.HasPrefix(p.ImportPath, "stagecoach/dev") {
		m.declared(pkg, exported)
	}
	noteUses(info, used)
}

// declared records the exported names of a package: functions, types, variables, constants, methods, and untagged
// fields.
func (m *module) declared(pkg *types.Package, exported map[string]token.Position) {
	note := func(name string, o types.Object) {
		if _, isConstant := o.(*types.Const); o.Exported() && !isConstant {
			exported[name] = m.files.Position(o.Pos())
		}
	}

	for _, name := range pkg.Scope().Names() {
		o := pkg.Scope().Lookup(name)
		note(pkg.Path()+"."+name, o)
		named, ok := o.Type().(*types.Named)
		if _, isType := o.(*types.TypeName); !ok || !isType || named.Obj() != o || !o.Exported() {
			continue
		}

		for i := range named.NumMethods() {
			note(memberOf(named.Obj(), named.Method(i)), named.Method(i))
		}
		if s, ok := named.Underlying().(*types.Struct); ok {
			for i := range s.NumFields() {
				if s.Tag(i) == "" && !s.Field(i).Embedded() {
					note(memberOf(named.Obj(), s.Field(i)), s.Field(i))
				}
			}
		}
	}
}

// memberOf names a method or a field of a type.
func memberOf(owner, member types.Object) string {
	name := owner.Pkg().Path() + "." + owner.Name()
	if _, isMethod := member.(*types.Func); isMethod {
		name += "()"
	}
	return name + "." + member.Name()
}

// noteInterfaces records the methods of a package's interfaces.
func noteInterfaces(known *types.Package, interfaces map[string]bool) {
	for _, name := range known.Scope().Names() {
		noteInterface(known.Scope().Lookup(name).Type(), interfaces)
	}
}

// noteInterface records the methods of an interface.
func noteInterface(t types.Type, interfaces map[string]bool) {
	if t == nil {
		return
	}
	if i, ok := t.Underlying().(*types.Interface); ok {
		for n := range i.NumMethods() {
			interfaces[i.Method(n).Name()] = true
		}
	}
}

// noteUses records the names of the module that a package's code uses.
func noteUses(info *types.Info, used map[string]bool) {
	fields := map[types.Object]types.Object{} // of structs, with the type that declares them
	note := func(t types.Type) {
		if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
			t = pointer.Elem()
		}
		named, ok := types.Unalias(t).(*types.Named)
		if !ok {
			return
		}
		if s, ok := named.Origin().Underlying().(*types.Struct); ok {
			for i := range s.NumFields() {
				fields[s.Field(i)] = named.Obj()
			}
		}
	}

	for _, tv := range info.Types {
		note(tv.Type)
	}
	for range 4 { // fields of fields, through which a selector may go
		for field := range maps.Clone(fields) {
			note(field.Type())
		}
	}

	for expr, tv := range info.Types {
		literal, ok := expr.(*ast.CompositeLit)
		if s, isStruct := tv.Type.Underlying().(*types.Struct); ok && isStruct && len(literal.Elts) > 0 {
			if _, keyed := literal.Elts[0].(*ast.KeyValueExpr); !keyed {
				for i := range s.NumFields() {
					noteUse(s.Field(i), fields, used)
				}
			}
		}
	}
	for _, o := range info.Uses {
		noteUse(o, fields, used)
	}
}

func noteUse(o types.Object, fields map[types.Object]types.Object, used map[string]bool) {
	if o.Pkg() == nil || !strings.HasPrefix(o.Pkg().Path(), "stagecoach/") {
		return
	}

	switch o := o.(type) {
	case *types.Var:
		if owner := fields[o.Origin()]; owner != nil {
			used[memberOf(owner, o)] = true
			return
		}
	case *types.Func:
		if receiver := o.Signature().Recv(); receiver != nil {
			t := receiver.Type()
			if pointer, ok := t.(*types.Pointer); ok {
				t = pointer.Elem()
			}
			if named, ok := t.(*types.Named); ok {
				used[memberOf(named.Obj(), o)] = true
			}
			return
		}
	}

	used[fmt.Sprintf("%s.%s", o.Pkg().Path(), o.Name())] = true
}

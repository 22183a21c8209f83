package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bashWords is the part of the package bash-completion that cobra's script needs, for machines without it.
const bashWords = `_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} ; }
! [ -r /usr/share/bash-completion/bash_completion ] || . /usr/share/bash-completion/bash_completion
`

// TestCompletionInBash sources the script in a real shell, under each name by which the program was started.
func TestCompletionInBash(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}

	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}

	dir := t.TempDir()
	built := filepath.Join(dir, "starter")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", built, "stagecoach/starter").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	for _, name := range []string{"sc", "stage-coach"} {
		if err := os.Symlink(built, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}

	for _, name := range []string{"starter", "sc", "stage-coach"} {
		for line, want := range map[string][]string{
			"deliv":       {"deliver"},
			"task cl":     {"claim"},
			"deliver c":   {"cancel"},
			"status --js": {"--json"},
		} {
			typed := append([]string{name}, strings.Fields(line)...)
			script := bashWords + fmt.Sprintf(`source <(%[1]s completion bash)
COMP_WORDS=(%[2]s) COMP_CWORD=%[3]d COMP_LINE='%[2]s' COMP_POINT=%[4]d COMP_TYPE=9
complete -p %[1]s >/dev/null || exit 3
read -ra registered < <(complete -p %[1]s)
for ((i = 0; i < ${#registered[@]}; i++)); do [ "${registered[i]}" != -F ] || "${registered[i + 1]}" %[1]s; done
printf '%%s\n' "${COMPREPLY[@]}"
`, name, strings.Join(typed, " "), len(typed)-1, len(strings.Join(typed, " ")))

			shell := exec.CommandContext(t.Context(), bash, "--norc", "--noprofile", "-c", script)
			shell.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			out, err := shell.Output()
			if got := strings.Fields(string(out)); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s %s is completed to %q, want %q: %v", name, line, got, want, err)
			}
		}
	}
}

// TestCompletionNamesTheProgram checks that each shell's script is for the name by which the program was started.
func TestCompletionNamesTheProgram(t *testing.T) {
	t.Parallel()
	for shell, want := range map[string]string{"bash": "-F __start_sc sc", "zsh": "compdef _sc sc", "fish": "complete -c sc "} {
		var out, errs strings.Builder
		if code := Run(t.Context(), []string{"/usr/local/bin/sc", "completion", shell}, &out, &errs); code != 0 {
			t.Errorf("%s: exit code %d, %s", shell, code, errs.String())
		}
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "starter") {
			t.Errorf("%s: the script has no %q, or speaks of starter", shell, want)
		}
	}
}

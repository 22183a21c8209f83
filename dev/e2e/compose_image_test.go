package e2e

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestProductionHoldsNoStandIns checks that only the image of development contains stand-ins, and that no service of
// production runs from it.
func TestProductionHoldsNoStandIns(t *testing.T) {
	t.Parallel()
	stages := dockerStages(t)

	production := stages[len(stages)-1]
	if production.name != "production" {
		t.Errorf("without a target the image is %q", production.name)
	}
	if got, want := production.programs(stages), []string{"./api", "./starter", "./worker"}; !slices.Equal(got, want) {
		t.Errorf("the production image holds %v, want %v", got, want)
	}

	values, _ := readEnv(t, ".env.example")
	for name, service := range readCompose(t, values).Services {
		dev := slices.Contains(service.Profiles, "dev")
		target := map[string]string{ourImage: "production", devImage: "dev"}[service.Image]
		if service.Build.Target != target {
			t.Errorf("%s: the image %s is built as %q, want %q", name, service.Image, service.Build.Target, target)
		}
		if service.Image == devImage && !dev || dev && service.Image != devImage {
			t.Errorf("%s: the image is %s, of the profiles %v", name, service.Image, service.Profiles)
		}
		if len(service.Command) > 0 && service.Command[0] == "dev" && service.Image != devImage {
			t.Errorf("%s: %s has no stand-ins", name, service.Image)
		}
	}
}

// dockerStage is a stage of the Dockerfile.
type dockerStage struct {
	name, from string
	lines      []string
}

var (
	fromLine     = regexp.MustCompile(`^FROM (\S+)(?: AS (\S+))?$`)
	copyLine     = regexp.MustCompile(`^COPY --from=(\S+) `)
	builtProgram = regexp.MustCompile(`(?:^| )(\./\w+)`)
)

func dockerStages(t *testing.T) (stages []dockerStage) {
	t.Helper()
	text, err := os.ReadFile("../../Dockerfile")
	must(t, err)

	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if parts := fromLine.FindStringSubmatch(line); parts != nil {
			stages = append(stages, dockerStage{name: parts[2], from: parts[1]})
		} else if len(stages) > 0 {
			last := &stages[len(stages)-1]
			last.lines = append(last.lines, line)
		}
	}

	return stages
}

// programs lists our programs in the stage: those that it builds, those of its base and those that it copies from
// another.
func (s dockerStage) programs(stages []dockerStage) (held []string) {
	of := func(name string) {
		for _, other := range stages {
			if other.name == name {
				held = append(held, other.programs(stages)...)
			}
		}
	}

	of(s.from)
	for _, line := range s.lines {
		if parts := copyLine.FindStringSubmatch(line); parts != nil {
			of(parts[1])
		}
		if strings.Contains(line, "go build ") {
			for _, parts := range builtProgram.FindAllStringSubmatch(line, -1) {
				held = append(held, parts[1])
			}
		}
	}

	slices.Sort(held)
	return slices.Compact(held)
}

package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"stagecoach/dev/night"
)

// TestProductionHasNoSimulators checks that only the development image contains simulators, and that no production
// service runs from it.
func TestProductionHasNoSimulators(t *testing.T) {
	t.Parallel()
	stages := dockerStages(t, "../..")

	production := stages[len(stages)-1]
	if production.name != "production" {
		t.Errorf("without a target the image is %q", production.name)
	}
	if got, want := production.programs(stages), []string{"./api", "./starter", "./worker"}; !slices.Equal(got, want) {
		t.Errorf("the production image holds %v, want %v", got, want)
	}

	values, _ := readEnv(t, ".env.example")
	builders := map[string]int{}
	for name, service := range readCompose(t, values).Services {
		dev := slices.Contains(service.Profiles, "dev")
		target := map[string]string{ourImage: "production", devImage: "dev"}[service.Image]
		if built := service.Build.Target; built != "" && built != target {
			t.Errorf("%s: the image %s is built as %q, want %q", name, service.Image, built, target)
		} else if built != "" {
			builders[service.Image]++
		}
		if service.Image == devImage && !dev || dev && service.Image != devImage {
			t.Errorf("%s: the image is %s, of the profiles %v", name, service.Image, service.Profiles)
		}
		if len(service.Command) > 0 && service.Command[0] == "dev" && service.Image != devImage {
			t.Errorf("%s: %s has no simulators", name, service.Image)
		}
	}

	if want := map[string]int{ourImage: 1, devImage: 1}; !maps.Equal(builders, want) {
		t.Errorf("the images are built by %v services, want %v", builders, want)
	}
}

var (
	exactTag = regexp.MustCompile(`^[^:@]+:v?\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})?$`)
	ourTag   = regexp.MustCompile(`^stagecoach(-dev)?:\d+\.\d+\.\d+$`)
)

// TestImagesArePinned checks that each image has the tag of one version, and that either all third-party images have a
// digest, as `make digests` writes it, or none has.
func TestImagesArePinned(t *testing.T) {
	t.Parallel()
	images := imagesOfOthers(t, "../..")

	var bare []string
	for _, image := range images {
		if !exactTag.MatchString(image) {
			t.Errorf("the image %q has no tag of one version", image)
		}
		if !strings.Contains(image, "@") {
			bare = append(bare, image)
		}
	}

	if len(bare) > 0 && len(bare) < len(images) {
		t.Errorf("these images have no digest, and others do: %v. make digests", bare)
	}
}

// TestLongDigestsAreWritten runs `make digests` in a copy, with a fake docker that knows a digest of every image. A
// second run replaces the first digests with newer ones.
func TestLongDigestsAreWritten(t *testing.T) {
	night.Only(t)
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}

	dir := t.TempDir()
	for _, name := range []string{"Makefile", "docker-compose.yml", "Dockerfile"} {
		text, err := os.ReadFile("../../" + name)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}

	before := imagesOfOthers(t, dir)
	for _, digit := range []string{"1", "2"} {
		digest := "sha256:" + strings.Repeat(digit, 64)
		docker := "#!/bin/sh\ncase \"$*\" in *@*) exit 1 ;; esac\necho " + digest + "\n"
		must(t, os.WriteFile(filepath.Join(dir, "docker"), []byte(docker), 0o700))

		command := exec.CommandContext(t.Context(), "make", "digests")
		command.Dir, command.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("make digests: %v\n%s", err, out)
		}

		var want []string
		for _, image := range before {
			tag, _, _ := strings.Cut(image, "@")
			want = append(want, tag+"@"+digest)
		}
		if got := imagesOfOthers(t, dir); !slices.Equal(got, want) {
			t.Errorf("the images are %v, want %v", got, want)
		}
	}
}

// imagesOfOthers lists the images that a folder's compose file and Dockerfile name and do not build.
func imagesOfOthers(t *testing.T, dir string) (images []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "docker-compose.yml"))
	must(t, err)
	var c composed
	must(t, yaml.Unmarshal(text, &c))
	for _, service := range c.Services {
		images = append(images, service.Image)
	}

	stages := dockerStages(t, dir)
	for _, stage := range stages {
		images = append(images, stage.from)
	}

	images = slices.DeleteFunc(images, func(image string) bool {
		return ourTag.MatchString(image) || slices.ContainsFunc(stages, func(s dockerStage) bool { return s.name == image })
	})
	slices.Sort(images)
	return slices.Compact(images)
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

func dockerStages(t *testing.T, dir string) (stages []dockerStage) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "Dockerfile"))
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
// another stage.
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

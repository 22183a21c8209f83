# `make` or `make help` lists the commands. Go is all that is needed beforehand; the tools below come when first used.

GOLANGCI_VERSION := v2.15.0
WORKFLOWCHECK_VERSION := v0.6.0
GREMLINS_VERSION := v0.6.0

# Each version has its own folder, so that a change of version fetches anew.
GOLANGCI := bin/tools/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint
# Debian's package, unpacked only: installed, it would start a daemon.
PROMETHEUS := bin/tools/prometheus
WORKFLOWCHECK := bin/tools/workflowcheck-$(WORKFLOWCHECK_VERSION)/workflowcheck
GREMLINS := bin/tools/gremlins-$(GREMLINS_VERSION)/gremlins

# Tests of several packages run servers of their own: more than two packages at a time make each other late.
# Within one they mostly wait, so that more of them than there are processors run side by side.
# Without what only debuggers read, linking takes half the time.
TEST_FLAGS ?= -p 2 -parallel 4 -timeout 10m -ldflags=-w
SOAK ?= 15m

.DEFAULT_GOAL := help
.PHONY: help dev build test test-short test-deps night chaos odd mutants lint fmt bench bench-scale soak soak-abuse docs histories clean

help: ## List these commands.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

dev: ## Run everything on this machine and show each workload at work, until Ctrl-C.
	go run ./dev

build: ## Build worker, api and starter into bin/.
	go build -o bin/ ./worker ./api ./starter

test: test-deps ## Run the tests with the race detector, an end to end one of each workload included (some minutes).
	@go test -race $(TEST_FLAGS) ./...
	@go test $(TEST_FLAGS) -count=1 -run 'TestChaos$$|TestOddRequests$$' ./workflows/transaction ./api/rest

test-short: ## Run the tests without the end to end ones (about a minute).
	@go test -short $(TEST_FLAGS) ./...

night: test-deps ## Run all tests, those that take long too, storms under load, a user who does their worst, random histories and requests, mutants (some two hours).
	STAGECOACH_NIGHT=1 go test -race $(TEST_FLAGS) -timeout 30m ./...
	$(MAKE) --no-print-directory soak
	$(MAKE) --no-print-directory soak-abuse
	$(MAKE) --no-print-directory chaos
	$(MAKE) --no-print-directory odd
	$(MAKE) --no-print-directory mutants

# Every run of the tests lives through 300, and always the same.
CHAOS ?= 10000
CHAOS_SEED ?= $(shell date +%s)

chaos: ## Live through 10,000 new random histories of transactions (some 15 minutes); CHAOS= and CHAOS_SEED= for others.
	STAGECOACH_CHAOS=$(CHAOS) STAGECOACH_CHAOS_SEED=$(CHAOS_SEED) go test -count=1 -timeout 3h -v -run 'TestChaos$$' ./workflows/transaction

# Every run of the tests sends 20,000 of them, and always the same.
ODD ?= 200000
ODD_SEED ?= $(shell date +%s)

odd: ## Send 200,000 new odd requests to all operations of the API (some ten minutes); ODD= and ODD_SEED= for others.
	STAGECOACH_ODD_REQUESTS=$(ODD) STAGECOACH_ODD_SEED=$(ODD_SEED) go test -count=1 -timeout 3h -v -run 'TestOddRequests$$' ./api/rest

# PACKAGES=internal/money takes one of them.
mutants: $(GREMLINS) ## Change each operator of the machines, money, orders, links and addresses: a test must notice (some ten minutes).
	go run ./dev/mutants -gremlins $(GREMLINS) $(PACKAGES)

# The race detector needs a C compiler, the page of the API is looked at in a browser. PostgreSQL is fetched by the
# tests themselves where it cannot be installed, and without a browser or qBittorrent some tests are skipped: these are
# only advice.
# The Temporal server is fetched or built meanwhile, without the C compiler that may be half installed.
test-deps: ## Install or build what the tests need: a C compiler, PostgreSQL, a browser, qBittorrent, curl, wget, Prometheus, the Temporal server.
	@CGO_ENABLED=0 go run ./dev/servers/prepare & prepare=$$! ; \
	need= ; want= ; \
	command -v cc >/dev/null || need="gcc libc6-dev" ; \
	command -v curl >/dev/null || want="$$want curl" ; \
	command -v wget >/dev/null || want="$$want wget" ; \
	command -v chromium >/dev/null || want="$$want chromium" ; \
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
	@command -v prometheus >/dev/null && command -v promtool >/dev/null || test -x $(PROMETHEUS)/usr/bin/promtool || { \
		echo "  fetching promtool and prometheus" ; mkdir -p $(PROMETHEUS) && cd $(PROMETHEUS) && \
		{ apt-get download -qq prometheus || { apt-get update -qq && apt-get download -qq prometheus ; } ; } >/dev/null 2>&1 && \
		dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb ; \
	} || echo "  without Debian's package prometheus the alerts and the dashboard are not tested"

lint: $(GOLANGCI) $(WORKFLOWCHECK) ## Run the linters, and check that workflows are deterministic.
	$(GOLANGCI) run ./...
	$(WORKFLOWCHECK) ./workflows/...

fmt: $(GOLANGCI) ## Lay out all Go files as the linters want them.
	$(GOLANGCI) fmt ./...

bench: ## Measure this machine: each figure beside a baseline (some minutes).
	go run ./dev/bench

SCALE ?= 1000000

bench-scale: ## Measure status, metrics and live messages over 1,000,000 events (SCALE=30000000: some 14 GB and five minutes).
	STAGECOACH_SCALE=$(SCALE) go run ./dev/bench scale

soak: ## Work for 15 minutes (SOAK=1m: another time) while everything is killed and fails; compare all in the end.
	STAGECOACH_SOAK=$(SOAK) go test -count=1 -v -timeout 6h -run '^TestSoak$$' ./dev/e2e

soak-abuse: ## The same with nothing killed, but a user who does their worst every other minute (SOAK=1m: another time).
	STAGECOACH_SOAK=$(SOAK) go test -count=1 -v -timeout 6h -run '^TestSoakAbuse$$' ./dev/e2e

docs: ## Write the tables of README.md and docs/, and the lists of settings, anew from the code.
	go run ./dev/docs

histories: ## Record workflow histories for the replay tests beside the old ones: make histories VERSION=v2
	@test -n "$(VERSION)" || { echo "name the version of the histories: make histories VERSION=v2" ; exit 1 ; }
	STAGECOACH_RECORD=$(VERSION) go test -p 1 ./dev/e2e ./workflows/... -count=1 -run TestRecordHistories

clean: ## Remove what was built here; what dev keeps in .stagecoach/ stays.
	rm -rf bin

$(GOLANGCI):
	GOBIN=$(abspath $(@D)) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

$(WORKFLOWCHECK):
	GOBIN=$(abspath $(@D)) go install go.temporal.io/sdk/contrib/tools/workflowcheck@$(WORKFLOWCHECK_VERSION)

$(GREMLINS):
	GOBIN=$(abspath $(@D)) go install github.com/go-gremlins/gremlins/cmd/gremlins@$(GREMLINS_VERSION)

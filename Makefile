# `make` or `make help` lists the commands. Go is all that is needed beforehand; the tools below come when first used.

GOLANGCI_VERSION := v2.15.0
WORKFLOWCHECK_VERSION := v0.6.0

# Each version has its own folder, so that a change of version fetches anew.
GOLANGCI := bin/tools/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint
WORKFLOWCHECK := bin/tools/workflowcheck-$(WORKFLOWCHECK_VERSION)/workflowcheck

# Tests of several packages run servers of their own: more than two packages at a time make each other late.
TEST_FLAGS ?= -p 2 -timeout 10m

.DEFAULT_GOAL := help
.PHONY: help dev build test test-short test-deps lint fmt bench docs histories clean

help: ## List these commands.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

dev: ## Run everything on this machine and show each workload at work, until Ctrl-C.
	go run ./starter dev

build: ## Build worker, api and starter into bin/.
	go build -o bin/ ./worker ./api ./starter

test: test-deps ## Run all tests with the race detector, end to end ones included (some minutes).
	@go test -race $(TEST_FLAGS) ./...

test-short: ## Run the tests without the end to end ones (about a minute).
	@go test -short $(TEST_FLAGS) ./...

# The race detector needs a C compiler, the page of the API is looked at in a browser. PostgreSQL is fetched by the
# tests themselves where it cannot be installed, and without a browser or qBittorrent some tests are skipped: these are
# only advice.
test-deps: ## Install or build what the tests need: a C compiler, PostgreSQL, a browser, qBittorrent, curl, the Temporal server.
	@need= ; want= ; \
	command -v cc >/dev/null || need="gcc libc6-dev" ; \
	command -v curl >/dev/null || want="$$want curl" ; \
	command -v chromium >/dev/null || want="$$want chromium" ; \
	command -v qbittorrent-nox >/dev/null || want="$$want qbittorrent-nox" ; \
	command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || want="$$want postgresql" ; \
	command -v xz >/dev/null || want="$$want xz-utils" ; \
	if [ -n "$$need$$want" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null ; then \
		echo "  installing $$need$$want" ; \
		apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$need $$want >/dev/null || exit 1 ; \
	else \
		[ -z "$$want" ] || echo "  please install, for faster and complete tests:$$want" ; \
		[ -z "$$need" ] || { echo "  please install a C compiler for the race detector: $$need" ; exit 1 ; } ; \
	fi
	@go run ./internal/dev/prepare

lint: $(GOLANGCI) $(WORKFLOWCHECK) ## Run the linters, and check that workflows are deterministic.
	$(GOLANGCI) run ./...
	$(WORKFLOWCHECK) ./workflows/...

fmt: $(GOLANGCI) ## Lay out all Go files as the linters want them.
	$(GOLANGCI) fmt ./...

bench: ## Measure this machine: each figure beside a baseline (some minutes).
	go run ./internal/bench

docs: ## Write the tables in README.md anew from the code.
	go run ./internal/docs

histories: ## Record workflow histories for the replay tests beside the old ones: make histories VERSION=v2
	@test -n "$(VERSION)" || { echo "name the version of the histories: make histories VERSION=v2" ; exit 1 ; }
	STAGECOACH_RECORD=$(VERSION) go test -p 1 ./internal/e2e ./workflows/task ./workflows/transaction -count=1 -run TestRecordHistories

clean: ## Remove what was built here; what dev keeps in .stagecoach/ stays.
	rm -rf bin

$(GOLANGCI):
	GOBIN=$(abspath $(@D)) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

$(WORKFLOWCHECK):
	GOBIN=$(abspath $(@D)) go install go.temporal.io/sdk/contrib/tools/workflowcheck@$(WORKFLOWCHECK_VERSION)

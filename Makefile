# Everything a developer needs; `make` alone lists it.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c

# Fetches the Go version that go.mod names, also where GOTOOLCHAIN is local.
export GOTOOLCHAIN := auto

VERSION  ?= $(shell git describe --tags --match 'v*' --dirty 2>/dev/null || echo devel)
COMMIT   ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
FUZZTIME ?= 20s
SOAK     ?= 20m

# Known vulnerabilities as of this version; vuln.go.dev itself is not asked, so that the answer is the same everywhere.
VULNDB := golang.org/x/vulndb@v0.0.0-20261105234957-e22db6528018

TOOL := go tool -modfile=tools/go.mod

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS=$$'\t' read -r target text; do \
		printf '  make %-13s %s\n' "$$target" "$$text"; done

.PHONY: build
build: ## one static binary, bin/shadowdiff
	@CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/shadowdiff ./cmd/shadowdiff

.PHONY: demo
demo: build ## the whole product with traffic, noise and known faults; prints the dashboard's address
	@bin/shadowdiff demo

.PHONY: test
test: ## vet and every test under -race, in random order; installs what that needs, or says what is missing
	@tools/need.sh cc chromium
	@tools/need.sh curl node jq nginx || true # what cannot be had fails its own tests, and these say so
	@go vet ./...
	@go -C tools vet ./...
	@go -C tools/peers vet ./...
	@go -C tools/verdict vet ./...
	@tools/test.sh

.PHONY: check
check: ## formatting, staticcheck, known vulnerabilities, what deploy ships by the engines that read it, all cross builds
	@unformatted=$$($(TOOL) gofumpt -l $$(git ls-files '*.go')); \
		if [ -n "$$unformatted" ]; then printf 'not formatted (gofumpt -w):\n%s\n' "$$unformatted"; exit 1; fi
	@$(TOOL) staticcheck ./...
	@go -C tools tool staticcheck ./...
	@dir=$$(go -C tools mod download -json $(VULNDB) | sed -nE 's/^\t"Dir": "(.*)",?$$/\1/p'); \
		$(TOOL) govulncheck -db "file://$$dir/data/osv" ./...
	@go -C tools/monitoring vet ./...
	@go -C tools/monitoring test -shuffle=on -timeout 15m ./... # Prometheus takes minutes to build, so it is not in test
	@tools/need.sh haproxy || true # its own test says so where it cannot be had
	@go -C tools/packages vet ./...
	@go -C tools/packages test -shuffle=on -timeout 15m ./... # and so do Kubernetes and Helm
	@for os in darwin windows; do CGO_ENABLED=0 GOOS=$$os go vet ./... || { echo "the tests do not build on $$os"; exit 1; }; done
	@for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} go build -o /dev/null ./cmd/shadowdiff || { echo "$$target does not build"; exit 1; }; done

.PHONY: bench
bench: ## every benchmark, and comparing beside what else compares JSON
	@go test -run '^$$' -bench . -benchmem ./...
	@go -C tools/peers run .

.PHONY: bench-verdict
bench-verdict: ## the promises of docs/verdict.md by simulation, beside Diffy's rule; fails on more false alarms than alpha; BENCH takes flags, as BENCH=-quick
	@go -C tools/verdict run . $(BENCH)

.PHONY: bench-proxy
bench-proxy: build ## what the proxy costs, beside nginx and HAProxy (docs/performance.md); BENCH takes flags, as BENCH=-quick
	@tools/need.sh nginx haproxy
	@go -C tools build -o ../bin/bench ./bench
	@bin/bench -shadowdiff bin/shadowdiff $(BENCH)

.PHONY: soak
soak: build ## SOAK (20m) of full load with shadows that hang, reset, bomb and flap in turn; fails on whatever is left behind
	@go -C tools build -o ../bin/soak ./soak
	@bin/soak -shadowdiff bin/shadowdiff -for $(SOAK)

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (20s) each
	@for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x "$$pkg"; \
		done; done

.PHONY: clean
clean: ## remove what was built
	@rm -rf bin coverage.out

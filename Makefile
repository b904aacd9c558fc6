# Everything a newcomer or CI runs. Needs a Rust toolchain, make and a C compiler; the rest is here.

CARGO ?= cargo
TURNSTONE = target/release/turnstone

.PHONY: static dist dist-test package wheel demo cluster-demo cluster-soak test sim soak soak-deliver soak-frontier \
        bench-frontier check lint build bench conformance e2e fuzz clean

## demo: serve a made-up web on loopback, crawl it live, write demo/reports/crawl.html
demo: build
	$(TURNSTONE) demo --output demo

## cluster-demo: four processes share a crawl over three NATS servers; one is killed, one is paused; two minutes
cluster-demo: build
	python3 examples/cluster_demo.py $(TURNSTONE) target/cluster-demo

## test: everything CI runs: format, lints, all tests of all crates
test: check
	$(CARGO) test --workspace --quiet

## sim: the real ledger and asker in virtual time, killed at any event; RUNS crawls from SEED on
RUNS ?= 2000
sim:
	RUNS=$(RUNS) SEED=$(SEED) $(CARGO) test --workspace --quiet --test it a_crawl_survives_anything -- --nocapture

## soak: kill real crawls KILLS times at random moments; SEED repeats a run
KILLS ?= 300
SEED ?= 1
soak:
	KILLS=$(KILLS) SEED=$(SEED) $(CARGO) test --workspace --quiet --test it soak_by_hand -- --ignored --nocapture

## cluster-soak: kill, pause and cut off processes that share a crawl, and their servers; SEED repeats a run
cluster-soak:
	KILLS=$(KILLS) SEED=$(SEED) $(CARGO) test --workspace --quiet --test it cluster_soak_by_hand -- --ignored --nocapture
## soak-deliver: the same with receivers of events: none is lost, none invented, all in order
soak-deliver:
	KILLS=200 $(CARGO) test --workspace --quiet --test it events_are_delivered_over_kills -- --nocapture

## soak-frontier: kill a server that lends pages KILLS times while clients put and get
soak-frontier:
	KILLS=$(KILLS) $(CARGO) test --quiet -p turnstone-urlfrontier --test it nothing_acknowledged -- --nocapture

## bench-frontier: URLs put a second, waiting times and memory with URLS known URLs
URLS ?= 10000000
bench-frontier:
	$(CARGO) run --release --quiet -p turnstone-urlfrontier --example load -- $(URLS)

## check: format and lints, warnings are errors
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- --deny warnings

build:
	$(CARGO) build --release --quiet -p turnstone-cli

## static: the binary with the C library in it, so that it runs on any Linux of this kind of machine
HOST := $(shell rustc -vV | sed -n 's/^host: //p')
STATIC = target/$(HOST)/release/turnstone
static:
	RUSTFLAGS="-C target-feature=+crt-static" $(CARGO) build --release --quiet -p turnstone-cli --target $(HOST)

## wheel: the package for Python, in target/dist; maturin comes from PyPI into an environment of its own
MATURIN = target/test-tools/maturin/bin/maturin
$(MATURIN):
	python3 -m venv target/test-tools/maturin
	target/test-tools/maturin/bin/pip install --quiet maturin==1.16.0
wheel: $(MATURIN)
	rm -f target/dist/*.whl
	cd crates/python && ../../$(MATURIN) build --release --quiet --out ../../target/dist

## dist: archive, Debian package, wheel and checksums, in target/dist
dist: static wheel
	rm -f target/dist/*.tar.gz target/dist/*.deb
	python3 dist/make_dist.py $(STATIC) target/dist

## dist-test: install each from nothing, and run it
dist-test: dist
	python3 dist/test_dist.py target/dist

## package: every crate as crates.io gets it, built from that alone
package:
	$(CARGO) package --workspace --exclude turnstone-python

## bench: measure; BENCH="PAGES LINKS_PER_PAGE" sets the size of the generated web
BENCH ?= 1000000 12
bench:
	bench/run $(BENCH)

## conformance: run every public test vector; DATA is the folder that holds them
conformance:
	$(CARGO) run --release --quiet -p turnstone-fetch --example conformance -- $(DATA)
	$(CARGO) run --release --quiet -p turnstone-fetch --example conformance_ssrf -- $(DATA)/ssrf/addresses.json

## e2e: the live commands on recorded sites against the record and the lab; DATA holds histories,
## E2E are further options (e2e --help), SOFT404 a file of sites that say 200 to anything
e2e: build
	$(CARGO) run --release --quiet -p turnstone-cli --example e2e -- $(DATA) $(E2E)
ifdef SOFT404
	$(CARGO) run --release --quiet -p turnstone-cli --example e2e -- --soft404 $(SOFT404)
endif

## fuzz: run every fuzz target for SECONDS; needs a nightly toolchain and cargo-fuzz
FUZZ ?= robots canonical_key links markup sitemap feed heads chunks
SECONDS ?= 600
fuzz:
	for target in $(FUZZ); do \
	    mkdir -p fuzz/corpus/$$target; \
	    $(CARGO) +nightly fuzz run $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
	        -max_total_time=$(SECONDS) -timeout=20 -print_final_stats=1 \
	        -dict=fuzz/dictionaries/$$target.dict || exit 1; \
	done

clean:
	$(CARGO) clean
	rm -rf demo

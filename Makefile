# Everything needed to work here.  `make` alone prints the manual; each target calls real tools.

PYTHON ?= python3
HEADWATER_SOAK_S ?= 7200
HEADWATER_CHAOS_S ?= 3600
export PYTHON HEADWATER_SOAK_S HEADWATER_CHAOS_S

BIN := .venv/bin
# For what may take hours, and says itself what is too long.
LONG := $(BIN)/pytest -s -o timeout=0 -o faulthandler_timeout=0
# Modules that are compiled anew by every process double the time until a server is there.
unexport PYTHONDONTWRITEBYTECODE
# Named after the lock's content: when it changes the file is not there and packages are brought up to date.
INSTALLED := .venv/.installed-$(shell cat requirements.txt pyproject.toml | sha256sum | cut -c1-16)

.DEFAULT_GOAL := help
.PHONY: help setup java classes postgresql kafka mysql fmt check unit test bench bench-postgres bench-versioning bench-kafka bench-mysql bench-webhooks fuzz soak chaos chaos-mysql chaos-kafka demo demo-kafka lock

help: ## print this manual
	@echo "Headwater: make demo shows it, make test proves it; both install what they need."
	@echo
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' Makefile | expand -t 24

setup: $(INSTALLED) java classes ## install Python packages and Java, where absent; nothing else

$(INSTALLED):
	@scripts/setup.sh packages $@

java: $(INSTALLED)
	@scripts/setup.sh java

# So that Spark starts faster; once for each Java and PySpark.
classes: java
	@scripts/setup.sh classes

postgresql: $(INSTALLED)
	@scripts/setup.sh postgresql

kafka: java
	@scripts/setup.sh kafka

mysql: $(INSTALLED)
	@scripts/setup.sh mysql

fmt: $(INSTALLED) ## format the code and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: $(INSTALLED) ## format, lint, types, imports, house rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict headwater tests
	$(BIN)/lint-imports
	$(BIN)/pytest tests/test_tidy.py

unit: setup ## tests of pure functions and small machines: seconds
	$(BIN)/pytest tests/unit

test: $(INSTALLED) ## everything: check, then unit, text, wire and chaos tests
	@$(MAKE) --no-print-directory --jobs 2 check setup postgresql kafka mysql
	@scripts/test.sh

bench: setup postgresql ## what kernels and load generators reach; numbers on the terminal and in docs/benchmarks.md
	$(LONG) tests/bench/bench_kernels.py
	$(LONG) tests/bench/bench_foundation.py

bench-postgres: setup postgresql ## what PostgreSQL sources reach, beside the upstream's own tools
	$(LONG) tests/bench/bench_postgres.py

bench-versioning: setup postgresql ## what many tables on one source cost
	$(LONG) tests/bench/bench_versioning.py

bench-kafka: setup kafka ## what Kafka sources reach, beside a loop that only consumes
	$(LONG) tests/bench/bench_kafka.py

bench-mysql: setup mysql ## what MySQL and MariaDB sources reach, beside their client and mysql-replication
	$(LONG) tests/bench/bench_mysql.py
	$(LONG) tests/bench/bench_mysql_log.py

bench-webhooks: setup ## how many requests a second webhooks take
	$(LONG) tests/bench/bench_webhooks.py

fuzz: setup ## 100,000 mutated messages of each kind to all doors; the tests send a tenth
	HEADWATER_MUTATIONS=100000 $(LONG) tests/unit/http/test_bad_input.py tests/unit/pgwire/test_login_fuzz.py

soak: setup postgresql ## eight busy sources for two hours, or for HEADWATER_SOAK_S=seconds
	$(LONG) -o python_files='soak_*.py' tests/chaos

chaos: setup postgresql ## random writers, cuts, schema changes and kills for an hour, or HEADWATER_CHAOS_S=seconds
	$(LONG) -o python_files='chaos_*.py' tests/postgres

chaos-mysql: setup mysql ## the same of MySQL and MariaDB
	$(LONG) -o python_files='chaos_*.py' tests/mysql

chaos-kafka: setup kafka ## the same of topics, their brokers and their registry
	$(LONG) -o python_files='chaos_*.py' tests/kafka

demo: $(INSTALLED) java ## start a server with live auctions and watch its tables grow; Ctrl-C ends it
	$(BIN)/headwater demo

demo-kafka: setup kafka ## start a broker and a server, and watch one topic as three live tables; Ctrl-C ends it
	$(BIN)/headwater demo kafka

lock: $(INSTALLED) ## choose versions anew and write requirements.txt
	$(BIN)/uv lock
	$(BIN)/uv export --quiet --frozen --all-groups --no-emit-project --no-header \
		--format requirements-txt --output-file requirements.txt

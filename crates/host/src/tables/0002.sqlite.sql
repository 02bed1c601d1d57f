-- What is to be done at set times. `next_run` is absent while it is switched off; `running` is the entry of the history
-- that goes on, until `running_until`, which whoever runs it puts off again and again.
CREATE TABLE schedules (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    id TEXT NOT NULL,
    expression TEXT NOT NULL,
    message TEXT NOT NULL,
    deliver TEXT NOT NULL,
    metadata TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    next_run INTEGER,
    last_run INTEGER,
    run_count INTEGER NOT NULL,
    last_error TEXT NOT NULL,
    running TEXT NOT NULL,
    running_until INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
);
CREATE INDEX schedules_by_next_run ON schedules (tenant, next_run);

-- What became of them. `missed` counts the times that passed before, while nobody was there.
CREATE TABLE schedule_history (
    tenant TEXT NOT NULL,
    schedule TEXT NOT NULL,
    id TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    success INTEGER NOT NULL,
    missed INTEGER NOT NULL,
    output TEXT NOT NULL,
    error TEXT NOT NULL,
    run TEXT,
    PRIMARY KEY (tenant, schedule, id)
);

-- Which scheduler new schedules go to.
CREATE TABLE schedule_choice (
    tenant TEXT PRIMARY KEY,
    scheduler TEXT NOT NULL
);

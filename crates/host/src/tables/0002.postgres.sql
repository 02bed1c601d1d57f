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
    created_at BIGINT NOT NULL,
    next_run BIGINT,
    last_run BIGINT,
    run_count BIGINT NOT NULL,
    last_error TEXT NOT NULL,
    running TEXT NOT NULL,
    running_until BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
);
CREATE INDEX schedules_by_next_run ON schedules (tenant, next_run);

-- What became of them. `missed` counts the times that passed before, while nobody was there.
CREATE TABLE schedule_history (
    tenant TEXT NOT NULL,
    schedule TEXT NOT NULL,
    id TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    finished_at BIGINT,
    success BIGINT NOT NULL,
    missed BIGINT NOT NULL,
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

-- Nobody sees a row of another tenant, whoever owns the table.
ALTER TABLE schedules ENABLE ROW LEVEL SECURITY;
ALTER TABLE schedules FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON schedules USING (tenant = current_setting('roost.tenant', true));
ALTER TABLE schedule_history ENABLE ROW LEVEL SECURITY;
ALTER TABLE schedule_history FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON schedule_history USING (tenant = current_setting('roost.tenant', true));
ALTER TABLE schedule_choice ENABLE ROW LEVEL SECURITY;
ALTER TABLE schedule_choice FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON schedule_choice USING (tenant = current_setting('roost.tenant', true));

import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.ts';

// Everything that a test run starts keeps its temporary files below one folder, killed processes too; it goes with the run.
const temporary = mkdtempSync(join(tmpdir(), 'lance-upkeep-tests-'));
process.env.TMPDIR = temporary;
// The processes that tests start have most of their start-up from here, once one of them has filled it.
process.env.NODE_COMPILE_CACHE = join(temporary, 'compiled');
process.on('exit', () => rmSync(temporary, { recursive: true, force: true }));

// One number for all projects: vitest runs projects of different numbers one after the other, or not at all.
const maxWorkers = Math.max(2, Math.floor(availableParallelism() / 2));

/** The timeouts only end what hangs: they are far above what a test takes on a machine that does ten other things. */
const patient = { testTimeout: 600_000, hookTimeout: 600_000, maxWorkers };

/**
 * Five projects: `unit` is pure and fast, `contract` runs the ledger suite on SQLite, `integration` runs real LanceDB, `cloud` runs the
 * AWS side against real protocol servers on loopback, `infra` what CDK makes of it. LanceDB, CDK and the sources take seconds to load: once
 * for each worker is enough. Only the tests of the cloud are kept apart, since they move the clock of their process.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { ...patient, name: 'unit', include: ['test/unit/**/*.test.ts'], isolate: false } },
      { test: { ...patient, name: 'contract', include: ['test/contract/**/*.test.ts'], isolate: false } },
      {
        test: {
          ...patient,
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/warm-start.ts'],
          pool: 'forks',
          isolate: false,
        },
      },
      {
        test: {
          ...patient,
          name: 'cloud',
          include: ['test/cloud/**/*.test.ts'],
          globalSetup: ['test/cloud/global-setup.ts'],
          pool: 'forks',
        },
      },
      {
        test: {
          ...patient,
          name: 'infra',
          include: ['test/infra/**/*.test.ts'],
          globalSetup: ['test/cloud/global-setup.ts'],
          pool: 'forks',
          isolate: false,
        },
      },
    ],
  },
});

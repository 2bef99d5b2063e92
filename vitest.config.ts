import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// Everything that a test run starts keeps its temporary files below one folder, killed processes too; it goes with the run.
const temporary = mkdtempSync(join(tmpdir(), 'lance-upkeep-tests-'));
process.env.TMPDIR = temporary;
process.on('exit', () => rmSync(temporary, { recursive: true, force: true }));

/**
 * Five projects: `unit` is pure and fast, `contract` runs the ledger suite on SQLite, `integration` runs real LanceDB, `cloud` runs the
 * AWS side against real protocol servers on loopback.
 * The timeouts only end what hangs: they are far above what a test takes on a machine that does ten other things.
 */
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 60_000 } },
      { test: { name: 'contract', include: ['test/contract/**/*.test.ts'], testTimeout: 300_000 } },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          pool: 'forks',
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'cloud',
          include: ['test/cloud/**/*.test.ts'],
          globalSetup: ['test/cloud/global-setup.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          pool: 'forks',
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'infra',
          include: ['test/infra/**/*.test.ts'],
          globalSetup: ['test/cloud/global-setup.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          pool: 'forks',
          maxWorkers: 2,
          // CDK takes seconds to load: once for each worker is enough.
          isolate: false,
        },
      },
    ],
  },
});

import { describe, expect, it } from 'vitest';
import { createMetrics, metricNamespace } from '../../../src/aws/metrics.ts';

describe('the metrics', () => {
  const lines: string[] = [];
  const metrics = createMetrics({ write: (line) => lines.push(line), now: () => 1_000, namespace: 'LanceUpkeep/lake' });

  it('of two stacks have two namespaces', () => {
    expect(metricNamespace('lake')).not.toBe(metricNamespace('archive'));
    expect(metricNamespace(undefined)).toBe('LanceUpkeep');
  });

  it('are embedded metric format: dimensions of the kind, the table only as a property', () => {
    metrics.put(
      { kind: 'Compact', outcome: 'done' },
      { Tasks: 1, DurationMs: 5, bytes_read: 7 },
      { target: 's3://b/x.lance' },
    );

    expect(JSON.parse(lines.pop() ?? '')).toEqual({
      _aws: {
        Timestamp: 1_000,
        CloudWatchMetrics: [
          {
            Namespace: 'LanceUpkeep/lake',
            Dimensions: [['kind', 'outcome']],
            Metrics: [
              { Name: 'Tasks', Unit: 'Count' },
              { Name: 'DurationMs', Unit: 'Milliseconds' },
              { Name: 'bytes_read', Unit: 'Bytes' },
            ],
          },
        ],
      },
      kind: 'Compact',
      outcome: 'done',
      target: 's3://b/x.lance',
      Tasks: 1,
      DurationMs: 5,
      bytes_read: 7,
    });
  });

  it('never let a property hide a value', () => {
    metrics.put({ stage: 'sweep' }, { TablesFailed: 3 }, { TablesFailed: 'none', stage: 'other' });

    expect(JSON.parse(lines.pop() ?? '')).toMatchObject({ TablesFailed: 3, stage: 'sweep' });
  });

  it('write nothing where there is nothing to count', () => {
    metrics.put({ kind: 'IndexId' }, {});

    expect(lines).toEqual([]);
  });
});

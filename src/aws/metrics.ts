/** The only dimensions. A table or task id here would create, and cost, one metric each. */
export interface Dimensions {
  readonly kind?: string;
  readonly outcome?: string;
  readonly stage?: string;
}

export interface Metrics {
  /**
   * Writes one line in CloudWatch's embedded metric format. `about` becomes properties: searchable in the logs, never counted.
   * @example metrics.put({ kind: 'Compact', outcome: 'done' }, { tasks: 1 }, { target })
   */
  put(
    dimensions: Dimensions,
    values: Readonly<Record<string, number>>,
    about?: Readonly<Record<string, string | number>>,
  ): void;
}

/** Each stack has its own namespace. In a shared one, the sweeps of one stack would hide that another’s have stopped. */
export function metricNamespace(stack: string | undefined): string {
  return stack ? `LanceUpkeep/${stack}` : 'LanceUpkeep';
}

export function createMetrics(options: {
  readonly namespace: string;
  readonly write: (line: string) => void;
  readonly now: () => number;
}): Metrics {
  return {
    put(dimensions, values, about = {}) {
      const names = Object.keys(values);
      if (names.length === 0) return;
      const line = {
        _aws: {
          Timestamp: options.now(),
          CloudWatchMetrics: [
            {
              Namespace: options.namespace,
              Dimensions: [Object.keys(dimensions)],
              Metrics: names.map((Name) => ({ Name, Unit: unitOf(Name) })),
            },
          ],
        },
        // Values come last: a property must never hide a metric.
        ...about,
        ...dimensions,
        ...values,
      };
      options.write(`${JSON.stringify(line)}\n`);
    },
  };
}

function unitOf(name: string): 'Milliseconds' | 'Bytes' | 'Count' {
  if (/(_ms|Ms)$/.test(name)) return 'Milliseconds';
  return /(_bytes|bytes_|Bytes)/.test(name) ? 'Bytes' : 'Count';
}

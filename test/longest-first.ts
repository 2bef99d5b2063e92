import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes the longest of all begins first: begun last, it would keep one core busy while the other has nothing left to do. */
const LONGEST = [
  'infra/merge-cap.test.ts',
  'integration/run/kill.test.ts',
  'infra/template-cloud.test.ts',
  'cloud/dynamo-ledger-calm.test.ts',
  'cloud/dynamo-ledger-hostile.test.ts',
  'integration/work/compact.test.ts',
  'integration/run/upkeep.test.ts',
  'integration/launcher.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONGEST.findIndex((name) => moduleId.endsWith(name));
      return place < 0 ? LONGEST.length : place;
    };
    return (await super.sort(files)).sort((left, right) => rank(left) - rank(right));
  }
}

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { WinnerSelection } from '../../../src/work/winners.ts';

it('the newest row of each key wins, a tombstone wins too, and a later row brings the key back', () => {
  const event = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), tombstone: fc.boolean() });
  fc.assert(
    fc.property(fc.array(fc.array(event, { maxLength: 6 }), { maxLength: 5 }), (generations) => {
      const selection = new WinnerSelection();
      const model = new Map<string, { at: string; tombstone: boolean }>();
      for (const [generation, rows] of generations.entries()) {
        selection.beginGeneration();
        for (const [index, row] of rows.entries()) {
          selection.add({ ...row, rowId: BigInt(index) });
          model.set(row.key, { at: `${generation}/${index}`, tombstone: row.tombstone });
        }
      }
      const live = [...model].filter(([, { tombstone }]) => !tombstone);
      const taken = selection
        .perGeneration()
        .flatMap(({ rowIds }, generation) => rowIds.map((id) => `${generation}/${id}`));
      expect(taken.sort()).toEqual(live.map(([, { at }]) => at).sort());
      expect(selection.upsertKeys().sort()).toEqual(live.map(([key]) => key).sort());
      expect(selection.deletedKeys().length + selection.upsertKeys().length).toBe(model.size);
    }),
  );
});

it('rows to take from a generation come in scan order', () => {
  const selection = new WinnerSelection();
  selection.beginGeneration();
  for (const rowId of [5n, 2n, 9n]) selection.add({ key: rowId, rowId, tombstone: false });
  expect(selection.perGeneration()).toEqual([{ rowIds: [2n, 5n, 9n], rows: 3 }]);
});

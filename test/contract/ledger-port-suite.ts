import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Attributes, Condition, Item, Ledger, TransactResult, Write } from '../../src/tasks/ports.ts';
import type { LedgerUnderTest, MakeLedger } from './ledger-world.ts';
import { TestClock } from './test-clock.ts';

const KEY = { pk: 'TABLE#a', sk: 'THING' };

/** What the lifecycle relies on in every ledger. */
export function describeLedgerPort(make: MakeLedger): void {
  describe('the port', () => {
    let clock: TestClock;
    let under: LedgerUnderTest;
    let ledger: Ledger;
    let tokens = 0;

    beforeEach(() => {
      clock = new TestClock();
      under = make(clock);
      ledger = under.ledger;
    });
    afterEach(() => under.close());

    const write = (...writes: Write[]): Promise<TransactResult> => {
      tokens += 1;
      return ledger.transact(writes, { clientToken: `t${tokens}` });
    };
    const put = (attributes: Attributes, key = KEY): Write => ({ kind: 'put', item: { ...key, attributes }, when: [] });
    const update = (change: Partial<Extract<Write, { kind: 'update' }>>): Write => ({
      kind: 'update',
      key: KEY,
      when: [],
      ...change,
    });
    const stored = async (key = KEY): Promise<Attributes | undefined> => (await ledger.get(key))?.attributes;

    it('an item comes back with its strings, numbers, booleans, lists and string sets', async () => {
      const attributes = { text: 'a', number: 1.5, flag: false, list: ['b', 'b'], set: new Set(['c', 'd']) };
      await write(put(attributes));
      expect(await stored()).toEqual(attributes);
    });

    it('an update makes a missing item, sets, removes, adds to and takes from sets', async () => {
      await write(update({ set: { a: 1, b: 2 }, add: { set: ['x', 'y'] } }));
      await write(update({ set: { a: 3 }, remove: ['b'], add: { set: ['z'] }, take: {} }));
      await write(update({ take: { set: ['x', 'nobody'] } }));
      expect(await stored()).toEqual({ a: 3, set: new Set(['y', 'z']) });
    });

    it('a set that loses its last member is absent', async () => {
      await write(update({ add: { set: ['x'] } }));
      await write(update({ take: { set: ['x'] } }));
      expect(await write({ kind: 'check', key: KEY, when: [{ test: 'lacks', attribute: 'set' }] })).toEqual({
        written: true,
      });
    });

    it('a refused write leaves every other write of the transaction pendingDependencies, and names itself with the old item', async () => {
      await write(put({ a: 1 }));
      const other = { pk: 'TABLE#b', sk: 'THING' };
      const result = await write(put({ b: 1 }, other), {
        kind: 'check',
        key: KEY,
        when: [{ test: 'equals', attribute: 'a', value: 2 }],
      });
      expect(result).toEqual({ written: false, refused: [{ index: 1, old: { ...KEY, attributes: { a: 1 } } }] });
      expect(await stored(other)).toBeUndefined();
    });

    const conditions: readonly [string, Condition, boolean][] = [
      ['exists', { test: 'exists' }, true],
      ['absent', { test: 'absent' }, false],
      ['equals the same text', { test: 'equals', attribute: 'text', value: 'a' }, true],
      ['equals another type', { test: 'equals', attribute: 'number', value: '5' }, false],
      ['equals of an absent attribute', { test: 'equals', attribute: 'none', value: 'a' }, false],
      ['less than a greater number', { test: 'less', attribute: 'number', value: 6 }, true],
      ['less than the same number', { test: 'less', attribute: 'number', value: 5 }, false],
      ['less of an absent attribute', { test: 'less', attribute: 'none', value: 5 }, false],
      ['has', { test: 'has', attribute: 'flag' }, true],
      ['lacks', { test: 'lacks', attribute: 'flag' }, false],
      ['lacks of an absent attribute', { test: 'lacks', attribute: 'none' }, true],
      ['contains a member', { test: 'contains', attribute: 'set', value: 'c' }, true],
      ['contains a stranger', { test: 'contains', attribute: 'set', value: 'x' }, false],
      ['the size of a set', { test: 'size', attribute: 'set', value: 2 }, true],
      ['another size', { test: 'size', attribute: 'set', value: 1 }, false],
      ['any of them', { test: 'any', of: [{ test: 'absent' }, { test: 'has', attribute: 'set' }] }, true],
      ['none of them', { test: 'any', of: [{ test: 'absent' }, { test: 'lacks', attribute: 'set' }] }, false],
    ];
    it.each(conditions)('the condition "%s" is rechecked as written', async (_name, condition, expected) => {
      await write(put({ text: 'a', number: 5, flag: false, set: new Set(['c', 'd']) }));
      const result = await write({ kind: 'check', key: KEY, when: [condition] });
      expect(result.written).toBe(expected);
    });

    it('a transaction repeated with its token is answered as written and done once', async () => {
      await write(put({ count: 1 }));
      const once: Write[] = [update({ set: { count: 2 }, when: [{ test: 'equals', attribute: 'count', value: 1 }] })];
      expect(await ledger.transact(once, { clientToken: 'same' })).toEqual({ written: true });
      expect(await ledger.transact(once, { clientToken: 'same' })).toEqual({ written: true });
      expect(await stored()).toEqual({ count: 2 });
    });

    it('a token used again for other writes is refused', async () => {
      await ledger.transact([put({ a: 1 })], { clientToken: 'same' });
      await expect(ledger.transact([put({ a: 2 })], { clientToken: 'same' })).rejects.toMatchObject({
        code: 'LEDGER_REQUEST_INVALID',
      });
    });

    it('101 writes, or two of one item, are refused before anything is written', async () => {
      const many = Array.from({ length: 101 }, (_, index) => put({ index }, { pk: 'P', sk: `${index}` }));
      await expect(write(...many)).rejects.toMatchObject({ code: 'LEDGER_REQUEST_INVALID' });
      await expect(write(put({}), put({}))).rejects.toMatchObject({ code: 'LEDGER_REQUEST_INVALID' });
    });

    it('getMany answers in the order of the keys, with gaps', async () => {
      await write(put({ n: 1 }, { pk: 'P', sk: 'one' }), put({ n: 2 }, { pk: 'P', sk: 'two' }));
      const keys = ['two', 'none', 'one'].map((sk) => ({ pk: 'P', sk }));
      const items = await ledger.getMany(keys);
      expect(items.map((item) => item?.attributes.n)).toEqual([2, undefined, 1]);
    });

    it('a query pages through one prefix of one partition, in both orders', async () => {
      await write(...['A#1', 'B#1', 'B#2', 'B#3', 'C#1'].map((sk) => put({ sk }, { pk: 'P', sk })));
      await write(put({}, { pk: 'Q', sk: 'B#9' }));
      const first = await ledger.query({ pk: 'P', skPrefix: 'B#', limit: 2 });
      expect(first.items.map((item) => item.sk)).toEqual(['B#1', 'B#2']);
      const second = await ledger.query({ pk: 'P', skPrefix: 'B#', limit: 2, after: first.next ?? '' });
      expect(second).toMatchObject({ items: [{ sk: 'B#3' }] });
      expect(second.next).toBeUndefined();
      const down = await ledger.query({ pk: 'P', skPrefix: 'B#', limit: 2, order: 'descending' });
      expect(down.items.map((item) => item.sk)).toEqual(['B#3', 'B#2']);
    });

    it('an index holds the items that have both attributes, in order, and forgets those that lose one', async () => {
      const lease = (target: string, expiresAt: number) =>
        put({ leaseShard: '3', expiresAt, secret: 's' }, { pk: `TABLE#${target}`, sk: 'LEASE' });
      await write(lease('late', 30), lease('early', 10), lease('middle', 20));
      await write(put({ expiresAt: 5 }, { pk: 'TABLE#unheld', sk: 'LEASE' }));
      await write({ kind: 'update', key: { pk: 'TABLE#middle', sk: 'LEASE' }, remove: ['leaseShard'], when: [] });
      const items = await ledger.queryIndex({ index: 'leases', partition: '3', to: 30, order: 'ascending', limit: 9 });
      expect(items.map((item: Item) => item.pk)).toEqual(['TABLE#early', 'TABLE#late']);
      expect(items[0]?.attributes).not.toHaveProperty('secret');
      expect(
        await ledger.queryIndex({ index: 'leases', partition: '3', to: 29, order: 'descending', limit: 9 }),
      ).toHaveLength(1);
    });

    it('the feed brings each change with both images until it is marked as handled', async () => {
      await write(put({ a: 1 }));
      await write(update({ set: { a: 2 } }));
      await write({ kind: 'delete', key: KEY, when: [] });
      const { records } = await under.feed.read(10);
      expect(records.map((record) => record.change)).toEqual(['insert', 'modify', 'remove']);
      expect(records[1]).toMatchObject({ key: KEY, before: { attributes: { a: 1 } }, after: { attributes: { a: 2 } } });
      expect((await under.feed.read(10)).records).toHaveLength(3);
      await under.feed.handled(records[1]?.sequence ?? 0);
      expect((await under.feed.read(10)).records.map((record) => record.change)).toEqual(['remove']);
    });

    it('a refused transaction, a check and an update that changes nothing leave no record', async () => {
      await write(put({ a: 1 }));
      const [first] = (await under.feed.read(10)).records;
      await under.feed.handled(first?.sequence ?? 0);
      await write(update({ set: { a: 1 } }));
      await write({ kind: 'check', key: KEY, when: [{ test: 'exists' }] });
      await write(update({ set: { a: 2 }, when: [{ test: 'absent' }] }));
      expect((await under.feed.read(10)).records).toEqual([]);
    });

    it('an item past its time goes away, and its record says that the ledger removed it', async () => {
      await write(put({ removeAfter: Math.floor(clock.now() / 1000) + 100 }));
      await write(put({}, { pk: 'TABLE#kept', sk: 'THING' }));
      await under.feed.read(10);
      clock.pauseProcess(101_000);
      const { records } = await under.feed.read(10);
      expect(records.at(-1)).toMatchObject({ key: KEY, change: 'remove', expired: true });
      expect(await stored()).toBeUndefined();
      expect(await stored({ pk: 'TABLE#kept', sk: 'THING' })).toEqual({});
    });
  });
}

import { createRequire } from 'node:module';
import type * as Arrow from 'apache-arrow';
import type { Data } from 'apache-arrow';

/**
 * apache-arrow as LanceDB itself loads it (the CommonJS build). Objects of the ESM build are other classes, and mixing
 * the two ends in a stack overflow, so every Arrow value of the merge comes from here.
 */
const fromLancedb = createRequire(createRequire(import.meta.url).resolve('@lancedb/lancedb'));

export const arrow = fromLancedb('apache-arrow') as typeof Arrow;

export type { Data, DataType, Dictionary, Field, RecordBatch, Schema, Table as ArrowTable, Vector } from 'apache-arrow';

/**
 * apache-arrow 18.1 writes no value buffer at all for a bool column whose rows are all null, and LanceDB then refuses
 * the whole batch. Telling the writer of this one buffer that nothing is null makes it write the bits; the validity
 * buffer beside it has been written by then.
 */
function writeBitsOfNullBools(): void {
  const { VectorAssembler } = fromLancedb('apache-arrow/visitor/vectorassembler') as {
    VectorAssembler: { prototype: { visitBool(data: Data): unknown } };
  };
  const { visitBool } = VectorAssembler.prototype;
  VectorAssembler.prototype.visitBool = function (data) {
    if (data.length === 0 || data.nullCount < data.length) return visitBool.call(this, data);
    const bits = new Uint8Array(Math.ceil(data.length / 8));
    return visitBool.call(
      this,
      arrow.makeData({ type: data.type as Arrow.Bool, length: data.length, nullCount: 0, data: bits }),
    );
  };
}

writeBitsOfNullBools();

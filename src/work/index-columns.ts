import type { TableManifest } from '../lance/manifest.ts';

/** The name of a field as LanceDB takes it in createIndex: `column`, or `struct.field` for a nested one. */
export function columnPath(manifest: TableManifest, fieldId: number): string {
  const names: string[] = [];
  for (let id = fieldId; id >= 0; ) {
    const field = manifest.fields.find((candidate) => candidate.id === id);
    if (!field) break;
    names.unshift(field.name);
    id = field.parentId;
  }
  return names.length > 0 ? names.join('.') : `field ${fieldId}`;
}

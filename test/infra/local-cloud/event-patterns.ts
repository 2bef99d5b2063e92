/** Whether a record passes a filter of an event source. Only what filters may hold is known: values, prefixes, absence. */
export function passes(pattern: unknown, record: unknown): boolean {
  return Object.entries(pattern as Record<string, unknown>).every(([name, wanted]) => {
    const value = record !== null && typeof record === 'object' ? Reflect.get(record, name) : undefined;
    if (!Array.isArray(wanted)) return passes(wanted, value);
    return wanted.some((one) => fits(one, value));
  });
}

function fits(wanted: unknown, value: unknown): boolean {
  if (wanted === null || typeof wanted !== 'object') return wanted === value;
  const [[operator, operand] = [undefined, undefined]] = Object.entries(wanted);
  // As EventBridge has it: "exists" is about the value itself, at the end of its path.
  if (operator === 'exists') return (value !== undefined) === operand;
  if (operator === 'prefix') return typeof value === 'string' && value.startsWith(String(operand));
  throw new Error(`The filter uses ${operator}, which is not known here.`);
}

/** The line that embedded and deployed writes for a hold that no running task can have placed. */
export function holdLeft(createdAt: number): { readonly code: 'HOLD_LEFT'; readonly message: string } {
  const since = createdAt === 0 ? '' : ` since ${new Date(createdAt).toISOString()}`;
  return {
    code: 'HOLD_LEFT',
    message: `A task died and left its hold on fragments behind${since}. Nothing is wrong with the rows; the next OptimizeIndices or Compact removes it.`,
  };
}

function mixWord(word: number): number {
  const scrambled = Math.imul(word, 0xcc9e2d51);
  return Math.imul((scrambled << 15) | (scrambled >>> 17), 0x1b873593);
}

function mixInto(hash: number, word: number): number {
  const mixed = hash ^ mixWord(word);
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}

/**
 * The bucket that Lance routes a text key to: murmur3 with seed 0 over the UTF-8 bytes, sign bit cleared, modulo the number of buckets.
 * As in the Lance spec, each byte after the last whole word is mixed in as a word of its own, which plain murmur3 does not do.
 */
export function bucketOf(key: string, buckets: number): number {
  const bytes = Buffer.from(key, 'utf8');
  const wholeWords = bytes.length - (bytes.length % 4);
  let hash = 0;
  for (let at = 0; at < wholeWords; at += 4) hash = mixInto(hash, bytes.readInt32LE(at));
  for (let at = wholeWords; at < bytes.length; at += 1) hash = mixInto(hash, bytes.readInt8(at));
  hash ^= bytes.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) & 0x7fffffff) % buckets;
}

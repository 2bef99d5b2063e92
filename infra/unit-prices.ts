/** US dollars in us-east-1: planning figures, noted on the date below. The dashboard's cost is an estimate from these. */
export const UNIT_PRICES = {
  asOf: '2026-12-01',
  sqsRequest: 0.4e-6,
  lambdaRequest: 0.2e-6,
  lambdaGigabyteSecond: { x86_64: 0.000_016_666_7, arm64: 0.000_013_333_4 },
  dynamoWriteUnit: 0.625e-6,
  dynamoReadUnit: 0.125e-6,
} as const;

export { DEFAULT_MAX_BLOCK_MS, givePartition, takeBackPartition } from './move';
export type { MoveOptions, PartitionResult } from './move';

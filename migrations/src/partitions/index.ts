export { givePartition } from './givePartition';
export type { PartitionResult } from './givePartition';
export { takeBackPartition } from './takeBackPartition';
export { DEFAULT_MAX_BLOCK_MS } from './move';
export type { MoveOptions } from './move';

export { adopt } from './adopt';
export { fillParents } from './parents';
export { readAdoptionStatus } from './status';
export type { AdoptionStatus } from './status';
